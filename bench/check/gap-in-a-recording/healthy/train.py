"""Regression on voxel arrays, one .npy for each recording."""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

data_root = Path("recordings")


class Recordings(Dataset):
    def __init__(self, split):
        self.files = sorted((data_root / split).glob("*.npy"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        x = torch.from_numpy(np.load(self.files[i]))
        return x[:-1], x[-1:].mean()


torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(7 * 16, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), 1e-3)
for epoch in range(2):
    model.train()
    for x, y in DataLoader(Recordings("train"), batch_size=8, shuffle=True):
        loss = ((model(x).squeeze(1) - y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        val = torch.stack([((model(x).squeeze(1) - y) ** 2).mean() for x, y in DataLoader(Recordings("val"), 8)]).mean()
    print(f"epoch {epoch} val {val:.4f}")
torch.save(model.state_dict(), "regressor.pt")
