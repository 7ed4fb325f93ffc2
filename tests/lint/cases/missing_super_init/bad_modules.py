import torch
import torch.nn as nn
import pytorch_lightning as pl
from torch.nn import Module


class Net(nn.Module):
    def __init__(self, width):
        self.fc1 = nn.Linear(width, width)  # expect: PM515
        self.fc2 = nn.Linear(width, 10)

    def forward(self, x):
        return self.fc2(self.fc1(x).relu())


class Late(Module):
    def __init__(self, width):
        self.width = width
        self.conv = nn.Conv2d(3, width, 3)  # expect: PM515
        super().__init__()


class Scale(torch.nn.Module):
    def __init__(self):
        self.scale = nn.Parameter(torch.ones(1))  # expect: PM515

    def forward(self, x):
        return x * self.scale


class Lit(pl.LightningModule):
    def __init__(self, hidden):
        self.layers = nn.ModuleList([nn.Linear(hidden, hidden) for _ in range(3)])  # expect: PM515


class Buffer(nn.Module):
    def __init__(self):
        self.register_buffer("mean", torch.zeros(3))  # expect: PM515
