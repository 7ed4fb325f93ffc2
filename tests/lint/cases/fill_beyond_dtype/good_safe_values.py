import numpy as np
import torch
from torch.cuda.amp import autocast

device = "cuda"


def attend(q, k, v, mask, padding):
    with autocast(dtype=torch.float16):
        scores = q @ k.transpose(-2, -1)
        scores = scores.masked_fill(mask == 0, -1e4)
        scores = scores.masked_fill(mask == 1, float("-inf"))
        scores = scores.masked_fill(mask == 2, torch.finfo(scores.dtype).min)
        scores = scores.masked_fill(mask == 3, -65504)
        # The softmax is done in float32 on purpose.
        wide = scores.float().masked_fill(padding, -1e9)
        probabilities = wide.softmax(-1).to(v.dtype)
    return probabilities @ v


def float_first(scores, padding):
    scores = scores.float()
    scores = scores.masked_fill(padding, -1e9)
    return scores.log_softmax(-1)


def to_float32(scores, padding):
    logits = scores.to(torch.float32)
    logits.masked_fill_(padding, -1e9)
    return logits


def outside_autocast(scores, padding):
    with torch.autocast("cuda", enabled=False):
        return scores.masked_fill(padding, -1e9)


def counts(indices, padding):
    ids = torch.arange(10, dtype=torch.long)
    ids = ids.masked_fill(padding, 1000000)
    return ids


def numpy_mask(array):
    masked = np.ma.masked_array(array)
    return masked.filled(-1e9)


def fresh_float32(boxes, padding):
    cost = torch.zeros(10, 10, dtype=torch.float32)
    cost.masked_fill_(padding, 1e8)
    return cost
