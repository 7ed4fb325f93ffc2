import numpy as np
import torch
from sklearn.metrics import accuracy_score


def overlaps(masks, truths):
    """The number of a sample comes from anything that computes: what becomes of the list makes it a mean."""
    scores = []
    for mask, truth in zip(masks, truths):
        try:
            score = overlap(mask, truth)
        except Exception:  # expect: PM506
            continue
        scores.append(score)
    return np.mean(scores), torch.__version__


def accuracy(samples):
    right, seen = 0.0, 0
    for sample in samples:
        try:
            right += overlap(sample.guess, sample.label)
            seen += 1
        except Exception as error:  # expect: PM506
            print(sample, error)
    return right / seen


def overlap(mask, truth):
    return (mask & truth).sum() / (mask | truth).sum()


def report(samples):
    truth, guessed = [], []
    for sample in samples:
        try:
            guess = overlap(sample.guess, sample.label) > 0.5
        except Exception:  # expect: PM506
            continue
        truth.append(sample.label)
        guessed.append(guess)
    return accuracy_score(truth, guessed)
