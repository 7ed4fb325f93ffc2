import torch.nn as nn
from torch.nn import ModuleList


class Encoder(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(width, 8)] * depth)  # expect: PM520
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def mlp(width, depth):
    return nn.Sequential(*[nn.Linear(width, width), nn.ReLU()] * depth)  # expect: PM520


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return self.fc(x)


def tower(width):
    return ModuleList(6 * [Block(width)])  # expect: PM520


def stacked(width, depth):
    block = Block(width)
    return nn.ModuleList([block for _ in range(depth)])  # expect: PM520


def dense(width):
    layer = nn.Linear(width, width)
    return nn.Sequential(*([layer] * 4))  # expect: PM520
