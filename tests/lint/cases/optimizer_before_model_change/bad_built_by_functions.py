import torch
from torch import nn


def build_net():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def build_opt(net):
    return torch.optim.Adam(net.parameters(), lr=1e-3)


def cross_validate(folds):
    net = build_net()
    opt = build_opt(net)
    for number, fold in enumerate(folds):
        if number > 0:
            net = build_net()  # expect: PM539
        for x, y in fold:
            opt.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            opt.step()
