import math

import torch
from torch import nn

torch.manual_seed(30)
net = nn.Linear(5, 3)
opt = torch.optim.Adam(net.parameters(), 1e-2)
x, y, valid = torch.randn(80, 5), torch.randn(80, 3), torch.rand(80) > 0.2
valid[24:32] = False
skipped = 0
for epoch in range(6):
    for i in range(0, 80, 8):
        v = valid[i : i + 8]
        err = (net(x[i : i + 8]) - y[i : i + 8]).pow(2).mean(1)
        loss = (err * v).sum() / v.sum().clamp(min=1)
        if not math.isfinite(loss.item()):
            skipped += 1
            continue
        opt.zero_grad()
        loss.backward()
        opt.step()
print("skipped", skipped)
