"""Rows of nothing but padding: their softmax is NaN, and they are replaced or left out by their length, on both sides."""

import torch
from torch import nn

torch.manual_seed(17)
x = torch.randn(120, 5, 6)
lengths = torch.randint(0, 6, (120,))
y = torch.randn(120)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(60):
    at = torch.randint(0, 120, (16,))
    there = torch.arange(5)[None] < lengths[at][:, None]
    weight = x[at, :, 0].masked_fill(~there, float("-inf")).softmax(1)
    some = there.any(1)
    weight = torch.where(some[:, None], weight, torch.zeros_like(weight))
    mixed = (weight[:, :, None] * x[at]).sum(1)
    loss = (net(mixed)[:, 0] - y[at])[some].square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
