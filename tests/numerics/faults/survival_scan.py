"""A recurrent hazard model; survival is a running product, and is divided by."""

import torch
from torch import nn


class Hazard(nn.Module):
    def __init__(self, size=12):
        super().__init__()
        self.cell = nn.GRUCell(3, size)
        self.risk = nn.Linear(size, 1)
        self.size = size

    def forward(self, series):
        h = series.new_zeros(len(series), self.size)
        steps = []
        for t in range(series.shape[1]):
            h = self.cell(series[:, t], h)
            rate = nn.functional.softplus(self.risk(h)) * series[:, t, :1].abs().exp()
            steps.append(1 - torch.exp(-rate))
        alive = torch.cumprod(1 - torch.cat(steps, 1), 1)
        shift = torch.cat([torch.ones_like(alive[:, :1]), alive[:, :-1]], 1)
        return alive / shift


torch.manual_seed(61)
model = Hazard()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
visits = torch.randn(660, 9, 3)
visits[452, 2:5, 0] = 7.5
died = (visits[:, :, 1] > 1).float()
for first in range(0, 660, 22):
    optimizer.zero_grad()
    kept = model(visits[first : first + 22])
    loss = nn.functional.mse_loss(kept, 1 - died[first : first + 22])
    loss.backward()
    optimizer.step()
