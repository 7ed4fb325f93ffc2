"""Odds that overflow to infinity on purpose: 1 / inf is the right answer here."""

import torch
from torch import nn


def streams(n):
    for _ in range(n):
        x = torch.randn(24, 6) * torch.tensor([1.0, 1.0, 1.0, 1.0, 1.0, 40.0])
        yield x, (x[:, 0] > 0).float()


torch.manual_seed(37)
gate = nn.Linear(6, 4)
top = nn.Linear(4, 1)
opt = torch.optim.SGD([*gate.parameters(), *top.parameters()], lr=1e-2)
for x, y in streams(60):
    with torch.no_grad():
        soft = 1.0 / (1.0 + torch.exp(-20 * x[:, :4]))
    loss = nn.functional.binary_cross_entropy_with_logits(top(gate(x / 40) * soft).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
