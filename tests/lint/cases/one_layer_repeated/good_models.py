import copy

import torch.nn as nn


def fresh(width, depth):
    return nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])


def copied(layer, depth):
    return nn.ModuleList([copy.deepcopy(layer) for _ in range(depth)])


def activation(depth):
    return nn.Sequential(*[nn.ReLU()] * depth)


def numbers(depth):
    return [64] * depth


def classes(depth, width):
    kinds = [nn.Linear] * depth
    return nn.ModuleList([kind(width, width) for kind in kinds])


def dropout(depth):
    return nn.ModuleList([nn.Dropout(0.1)] * depth)


def pooling(depth):
    pool = nn.MaxPool2d(2)
    return nn.ModuleList([pool for _ in range(depth)])


def identity(depth):
    return nn.ModuleList([nn.Identity()] * depth)


def unknown(layer, depth):
    return nn.ModuleList([layer] * depth)


class SharedOnPurpose(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        shared = nn.Linear(width, width)
        self.shared_layers = nn.ModuleList([shared] * depth)


def tie_weights(width, depth):
    layer = nn.Linear(width, width)
    return nn.ModuleList([layer] * depth)


def one(width):
    return nn.ModuleList([nn.Linear(width, width)] * 1)


class Decided(nn.Module):
    def __init__(self, width, depth, share_head):
        super().__init__()
        head = nn.Linear(width, 1)
        if share_head:
            self.heads = nn.ModuleList([head for _ in range(depth)])
        else:
            self.heads = nn.ModuleList([copy.deepcopy(head) for _ in range(depth)])


class Encoder(nn.Module):
    """As in ALBERT: the blocks have one set of weights, shared between all depths."""

    def __init__(self, width, depth):
        super().__init__()
        block = nn.Linear(width, width)
        self.blocks = nn.ModuleList([block] * depth)
