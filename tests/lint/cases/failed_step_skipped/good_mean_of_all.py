import numpy as np
import torch


def counted(masks, truths):
    scores, failed = [], 0
    for mask, truth in zip(masks, truths):
        try:
            scores.append(overlap(mask, truth))
        except Exception:
            failed += 1
    return np.mean(scores), failed


def divided_by_all(samples):
    """What fails counts as wrong: the total is divided by all of them."""
    right = 0.0
    for sample in samples:
        try:
            right += overlap(sample.guess, sample.label)
        except Exception as error:
            print(sample, error)
    return right / len(samples), torch.__version__


def kept_as_missing(masks, truths):
    scores = []
    for mask, truth in zip(masks, truths):
        try:
            scores.append(overlap(mask, truth))
        except Exception:
            scores.append(float("nan"))
    return np.mean(scores)


def no_mean(masks, truths, writer):
    for mask, truth in zip(masks, truths):
        try:
            writer.write(overlap(mask, truth))
        except Exception:
            continue


def names_that_do_not_fit(paths, sizes):
    """A name is only taken apart: it is decided which files count, and nothing failed."""
    found = []
    for path in paths:
        try:
            number = int(path.rsplit("_", 1)[1])
        except Exception:
            continue
        found.append(sizes[number])
    return np.mean(found)


def overlap(mask, truth):
    return (mask & truth).sum() / (mask | truth).sum()
