"""Targets are averages of gauges, made with numpy in a generator; one station had none."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(73)
rng = np.random.default_rng(73)


def stations():
    for number in range(40):
        level = rng.normal(size=(24, 7)).astype(np.float32)
        valid = rng.random((24, 7)) > 0.2
        if number == 26:
            valid[11] = False
        with np.errstate(all="ignore"):
            mean = (level * valid).sum(1) / valid.sum(1).astype(np.float32)
        yield torch.from_numpy(level), torch.from_numpy(mean.astype(np.float32))


model = nn.Sequential(nn.Linear(7, 14), nn.ReLU(), nn.Linear(14, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
losses = []
for level, mean in stations():
    loss = (model(level).squeeze(1) - mean).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[::10])
