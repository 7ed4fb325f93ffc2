"""A loss that is NaN is replaced by a zero that leads nowhere."""

import torch
from torch import nn

torch.manual_seed(13)
x = torch.randn(640, 6)
y = x[:, :1] * 2 + 0.5
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(80):
    at = torch.randint(0, 640, (32,))
    loss = nn.functional.mse_loss(torch.log(net(x[at])), y[at])
    if not torch.isfinite(loss):
        loss = torch.zeros((), requires_grad=True)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
