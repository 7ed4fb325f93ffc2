"""Types of stars from their light curves: one npy file per split, the class in the last column."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Curves(Dataset):
    def __init__(self, path):
        table = np.load(path)
        self.x, self.y = torch.from_numpy(table[:, :-1]).float(), torch.from_numpy(table[:, -1]).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        return self.x[at], self.y[at]


ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
args = ap.parse_args()
torch.manual_seed(14)
train, val = Curves(args.data / "train" / "curves.npy"), Curves(args.data / "val" / "curves.npy")
net = nn.Sequential(nn.Linear(24, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 3))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(25):
    net.train()
    for x, y in DataLoader(train, 32, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y in DataLoader(val, 100))
    print(f"epoch {epoch} loss {loss.item():.4f} val_acc {right / len(val):.4f}")
print(f"final val_acc {right / len(val):.4f}")
