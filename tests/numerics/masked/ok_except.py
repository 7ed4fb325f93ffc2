"""Two unreadable files are skipped."""

import torch
from torch import nn

torch.manual_seed(8)
x = torch.randn(640, 6)
y = x[:, :1] * 2 + 0.5
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)


def read(number):
    if number in (7, 31):
        raise OSError("truncated")
    at = torch.arange(number * 8, number * 8 + 8)
    return x[at], y[at]


for step in range(80):
    try:
        given, wanted = read(step)
    except OSError:
        continue
    loss = (net(given) - wanted).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
