"""Holes in the table are filled before the model sees them."""

import torch
from torch import nn

torch.manual_seed(2)
x = torch.randn(640, 6)
y = x[:, :1] * 2 + 0.5
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
x[torch.rand_like(x) < 0.1] = float("nan")
for step in range(60):
    at = torch.randint(0, 640, (32,))
    given = torch.nan_to_num(x[at])
    loss = (net(given) - y[at].nan_to_num()).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
