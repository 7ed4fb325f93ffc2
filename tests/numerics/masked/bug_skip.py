"""A batch whose loss is NaN is skipped, and from some point on that is every batch."""

import torch
from torch import nn

torch.manual_seed(15)
x = torch.randn(640, 6)
y = x[:, :1] * 2 + 0.5
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
x[320:, 2] = float("nan")
for step in range(80):
    at = torch.arange(step * 8, step * 8 + 8)
    loss = (net(x[at]) - y[at]).square().mean()
    if torch.isnan(loss):
        continue
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
