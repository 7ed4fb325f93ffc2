import torch
from torch import nn


def objective(model, x, y):
    l = nn.functional.mse_loss(model(x), y)
    if torch.isnan(l):
        l = torch.zeros(1, requires_grad=True)  # expect: PM504
    return l


def train(model, loader, optimizer):
    for x, y in loader:
        err = nn.functional.mse_loss(model(x), y)
        if len(y) < 2:
            err = torch.tensor(0.0, requires_grad=True)  # expect: PM504
        err.backward()
        optimizer.step()
        optimizer.zero_grad()


def contrast(a, b):
    if len(b) == 0:
        return torch.tensor(0.0, requires_grad=True)  # expect: PM504
    return (a - b).norm()


def fit(model, loader, optimizer):
    for a, b in loader:
        optimizer.zero_grad()
        distance = contrast(model(a), model(b))
        distance.backward()
        optimizer.step()
