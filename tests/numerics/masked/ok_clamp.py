"""A logarithm that is cut at -20, as cross entropy does itself."""

import torch
from torch import nn

torch.manual_seed(4)
x = torch.randn(640, 6)
y = x[:, :1] * 2 + 0.5
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(80):
    at = torch.randint(0, 640, (32,))
    p = torch.sigmoid(net(x[at]))
    wanted = (y[at] > 0).float()
    loss = -(wanted * p.log().clamp(min=-20) + (1 - wanted) * (1 - p).log().clamp(min=-20)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
