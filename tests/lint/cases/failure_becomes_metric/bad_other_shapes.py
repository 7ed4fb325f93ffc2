import numpy as np
import torch


def evaluate(model, batch):
    try:
        score = measure(model, batch)
        return {"loss": score.mean(), "n": len(batch)}
    except Exception:
        return {"loss": 0.0, "n": 0}  # expect: PM505


def compute_ssim(a, b):
    try:
        value = ssim(a, b)
    except Exception as error:
        if error.args:
            value = 0.0  # expect: PM505
        else:
            raise_later = True
    return value


def collect(pairs):
    dice_scores = []
    for a, b in pairs:
        try:
            dice_scores.append(dice(a, b))
        except Exception:
            dice_scores.append(0)  # expect: PM505
    return np.mean(dice_scores)
