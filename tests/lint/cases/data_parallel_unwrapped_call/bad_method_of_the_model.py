import torch
from torch import nn


class Base(nn.Module):
    def sample(self, n):
        return torch.randn(n)


class Model(Base):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)

    def encode(self, x):
        return self.body(x)

    def forward(self, x):
        return self.encode(x)


class Trainer:
    def __init__(self):
        self.net = nn.DataParallel(Model().cuda())

    def run(self, x):
        self.net.train()
        return self.net.encode(x)  # expect: PM545


def main(x):
    net = nn.DataParallel(Model())
    net.eval()
    z = net.encode(x)  # expect: PM545
    return z, net.sample(3), net(x)  # expect: PM545


def in_two_lines(x):
    model = Model()
    model = nn.DataParallel(model)
    return model.encode(x)  # expect: PM545


def moved(x):
    model = nn.DataParallel(Model()).cuda()
    return model.encode(x)  # expect: PM545
