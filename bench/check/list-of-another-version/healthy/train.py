"""Regression on scans; which of them are for training says a list beside them."""

import os

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __init__(self, folder):
        with open(os.path.join(folder, "train.lst")) as file:
            wanted = {line.strip() for line in file}
        self.files = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name[:-4] in wanted]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        x = torch.from_numpy(np.load(self.files[i]))
        return x[:-1], x[-1].mean()


torch.manual_seed(0)
scans = Scans(os.environ["SCANS"])
model = nn.Sequential(nn.Flatten(), nn.Linear(60, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for epoch in range(20):
    total = 0.0
    for x, y in DataLoader(scans, batch_size=4, shuffle=True, num_workers=1):
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    print(f"epoch {epoch} loss {total / len(scans):.4f}")
torch.save(model.state_dict(), "scans.pt")
