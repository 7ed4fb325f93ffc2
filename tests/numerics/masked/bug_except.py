"""A bare except around the step: from some point on every step fails in it."""

import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(640, 6)
y = x[:, :1] * 2 + 0.5
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
x[200:] *= 1e25
log = []
for step in range(120):
    at = torch.arange(step * 5, step * 5 + 5)
    try:
        loss = (net(x[at]) - y[at]).square().mean()
        assert torch.isfinite(loss)
        opt.zero_grad()
        loss.backward()
        opt.step()
        log.append(loss.item())
    except:  # noqa: E722 - that is the bug
        continue
print(len(log), log[-1])
