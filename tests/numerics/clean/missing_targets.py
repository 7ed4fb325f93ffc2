"""Several assays per molecule, most of them not measured: NaN marks a missing target."""

import torch
from torch import nn

torch.manual_seed(3)
mol = torch.randn(600, 10)
assay = mol @ torch.randn(10, 4) * 0.3
assay[torch.rand(600, 4) < 0.4] = float("nan")
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    tot = 0.0
    for m, a in zip(mol.split(30), assay.split(30)):
        known = ~torch.isnan(a)
        pred = net(m)
        loss = (pred[known] - a[known]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    print(epoch, tot / 20)
