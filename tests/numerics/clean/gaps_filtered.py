"""Hourly readings with gaps (NaN). Rows with a gap are dropped before training."""

import io
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

rng = np.random.default_rng(6)
lines = []
for i in range(900):
    cells = [f"{v:.3f}" for v in rng.normal(size=4)]
    if i % 11 == 0:
        cells[i % 4] = ""
    lines.append(",".join(cells))
raw = torch.tensor(np.genfromtxt(io.StringIO("\n".join(lines)), delimiter=","), dtype=torch.float32)


class Readings(Dataset):
    def __init__(self, table):
        self.rows = table[~torch.isnan(table).any(1)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i, :3], self.rows[i, :2].sum()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    losses = []
    for x, y in DataLoader(Readings(raw), batch_size=32, shuffle=True):
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(epoch, sum(losses) / len(losses))
