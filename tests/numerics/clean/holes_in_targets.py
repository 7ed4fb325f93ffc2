"""Missing targets are NaN and are picked out before the loss; two optimizers, four micro-batches."""

import torch
from torch import nn

torch.manual_seed(43)
body, head = nn.Linear(5, 12), nn.Linear(12, 2)
opts = [torch.optim.Adam(body.parameters(), lr=2e-3), torch.optim.SGD(head.parameters(), lr=1e-2)]
for step in range(40):
    for micro in range(4):
        x = torch.randn(12, 5)
        y = torch.stack([x[:, 0], x[:, 1:].sum(1)], 1)
        y[torch.rand_like(y) < 0.3] = float("nan")
        known = ~y.isnan()
        guess = head(torch.relu(body(x)))
        loss = ((guess[known] - y[known]) ** 2).mean() / 4
        loss.backward()
    for opt in opts:
        opt.step()
        opt.zero_grad()
