"""Loss terms in a dict, chosen by where(): the branch that is not taken still has a derivative."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Weights:
    fit: float = 1.0
    tail: float = 0.2


def terms(pred, goal):
    miss = (pred - goal).abs()
    return {
        "fit": miss.mean(),
        "tail": torch.where(miss > 0.5, torch.log(miss / 0.5), miss - 0.5).mean(),
    }


def run(weights):
    torch.manual_seed(79)
    net = nn.Linear(4, 1, bias=False)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    x = torch.randn(400, 4)
    x[245] = 0.0
    y = x[:, 0] - x[:, 2]
    for at in range(0, 400, 10):
        parts = terms(net(x[at : at + 10]).squeeze(1), y[at : at + 10])
        loss = sum(getattr(weights, name) * value for name, value in parts.items())
        opt.zero_grad()
        loss.backward()
        opt.step()


run(Weights())
