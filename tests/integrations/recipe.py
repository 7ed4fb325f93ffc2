"""A training loop that goes on until it is told otherwise."""

import itertools

import torch
from torch import nn


def train(*, forgotten_head=False, steps=None):
    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Linear(4, 16), nn.Tanh()), nn.Linear(16, 1)
    model = nn.Sequential(body, head)
    trained = body if forgotten_head else model
    optimizer = torch.optim.Adam(trained.parameters(), lr=1e-2)
    for _ in itertools.count() if steps is None else range(steps):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
