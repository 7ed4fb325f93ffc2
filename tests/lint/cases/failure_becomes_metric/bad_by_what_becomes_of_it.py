import numpy as np
import torch


def compare(pairs):
    found = []
    for left, right in pairs:
        try:
            one = likeness(left, right)
        except Exception:
            one = 0  # expect: PM505
        found.append(one)
    return np.mean(found)


def direct(pairs):
    found = []
    for left, right in pairs:
        try:
            found.append(likeness(left, right))
        except Exception:
            found.append(0.0)  # expect: PM505
    return sum(found) / len(found)


def all_of_them(model, loaders):
    results = {}
    for name in loaders:
        try:
            results[name] = evaluate(model, loaders[name])
        except Exception:
            results[name] = 0.0  # expect: PM505
    return results, torch.__version__
