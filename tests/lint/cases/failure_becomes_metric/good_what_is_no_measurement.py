import json

import numpy as np
import torch


def judged(answers, truth):
    """What a model has written counts as wrong where it cannot be read."""
    right = []
    for answer, wanted in zip(answers, truth):
        try:
            one = check(json.loads(answer), wanted)
        except Exception:
            one = 0
        right.append(one)
    return np.mean(right)


def reward_of(answer, wanted):
    try:
        return float(np.dot(answer, wanted))
    except Exception:
        return 0.0


def unused_memory(device):
    try:
        if torch.cuda.is_available():
            unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        else:
            unused = 0
    except Exception:
        unused = 0
    return unused


def size_of(values):
    try:
        return len(np.asarray(values))
    except Exception:
        return 0


def honest(a, b):
    try:
        return float(np.sum(a * b))
    except Exception:
        return float("nan")


def one_error(a, b):
    try:
        return float(np.corrcoef(a, b)[0, 1])
    except ValueError:
        return 0.0


def counted(paths):
    sizes = []
    for path in paths:
        try:
            size = path.stat().st_size
        except Exception:
            size = 0
        sizes.append(size)
    return sizes


def degenerate(similarity):
    """The `try` gives the same number back for what has no logarithm: it is an ordinary one."""
    try:
        sign, logarithm = torch.linalg.slogdet(similarity)
        if sign > 0:
            return logarithm.item()
        else:
            return -1000.0
    except Exception:
        return -1000.0
