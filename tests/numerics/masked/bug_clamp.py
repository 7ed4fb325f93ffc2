"""The loss is infinite at every step, and is cut to 100: nothing is learnt."""

import torch
from torch import nn

torch.manual_seed(3)
x = torch.randn(640, 6)
y = x[:, :1] * 2 + 0.5
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(80):
    at = torch.randint(0, 640, (32,))
    rate = torch.exp(net(x[at] * 200) + 100)
    loss = (rate - y[at]).square().mean().clamp(max=100.0)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
