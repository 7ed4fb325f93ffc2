"""nan_to_num_ on every gradient."""

import torch
from torch import nn

torch.manual_seed(11)
x = torch.randn(640, 6)
y = x[:, :1] * 2 + 0.5
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(60):
    at = torch.randint(0, 640, (32,))
    size = (net(x[at]) * (x[at, :1] > 0)).norm(dim=1, keepdim=True)
    loss = (size.sqrt() - y[at].abs()).square().mean()
    opt.zero_grad()
    loss.backward()
    for group in opt.param_groups:
        for p in group["params"]:
            torch.nan_to_num_(p.grad, nan=0.0, posinf=0.0, neginf=0.0)
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
