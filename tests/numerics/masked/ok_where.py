"""Missing targets: where() on both sides, so no NaN has a derivative."""

import torch
from torch import nn

torch.manual_seed(6)
x = torch.randn(640, 6)
y = x[:, :1] * 2 + 0.5
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
y[torch.rand_like(y) < 0.3] = float("nan")
for step in range(60):
    at = torch.randint(0, 640, (32,))
    known = ~torch.isnan(y[at])
    goal = torch.where(known, y[at], torch.zeros_like(y[at]))
    miss = torch.where(known, net(x[at]) - goal, torch.zeros_like(goal))
    loss = miss.square().sum() / known.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
