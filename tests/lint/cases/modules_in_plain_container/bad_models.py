import torch
import torch.nn as nn
from torch.nn import Linear


class Stack(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = [nn.Linear(width, width) for _ in range(depth)]  # expect: PM519

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


class Heads(nn.Module):
    def __init__(self, width, tasks):
        super().__init__()
        self.heads = {task: Linear(width, n) for task, n in tasks.items()}  # expect: PM519

    def forward(self, x, task):
        return self.heads[task](x)


class Appended(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.convs = []  # expect: PM519
        for a, b in zip(widths, widths[1:]):
            self.convs.append(nn.Conv2d(a, b, 3))
        self.out = nn.Linear(widths[-1], 1)

    def forward(self, x):
        for conv in self.convs:
            x = conv(x)
        return self.out(x.mean((-1, -2)))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return self.fc(x)


class Pair(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.pair = (Block(width), Block(width))  # expect: PM519

    def forward(self, x):
        return self.pair[0](x) + self.pair[1](x)


class Named(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.blocks = {}  # expect: PM519
        self.blocks["a"] = nn.Linear(width, width)
        self.blocks["b"] = nn.Linear(width, width)

    def forward(self, x):
        for key, block in self.blocks.items():
            x = block(x)
        return x


class ByName(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.hidden = []  # expect: PM519
        for _ in range(depth):
            layer = nn.Linear(width, width)
            self.hidden.append(layer)

    def forward(self, x):
        for layer in self.hidden:
            x = layer(x).relu()
        return x


class LocalList(nn.Module):
    def __init__(self, width):
        super().__init__()
        layers = []
        for _ in range(3):
            layers.append(nn.Linear(width, width))
        self.layers = layers  # expect: PM519
        self.branches = dict(a=nn.Linear(width, 1), b=nn.Linear(width, 1))  # expect: PM519

    def forward(self, x):
        for i in range(len(self.layers)):
            x = self.layers[i](x)
        return self.branches["a"](x)
