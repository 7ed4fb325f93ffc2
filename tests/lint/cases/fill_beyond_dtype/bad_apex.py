import torch
from apex import amp


def scores_of(query, key, mask):
    scores = torch.bmm(query, key.transpose(1, 2))
    return scores.masked_fill(mask, -1e18)  # expect: PM502


def prepare(model, optimizer):
    return amp.initialize(model, optimizer, opt_level="O1")
