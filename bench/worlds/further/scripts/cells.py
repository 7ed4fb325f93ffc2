"""Cells under a microscope. Pixels are scaled to 0..1, then normalised with the mean and deviation of norm.npy."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
args = ap.parse_args()
torch.manual_seed(10)
mean, std = (torch.from_numpy(row).float().view(3, 1, 1) for row in np.load(args.data / "norm.npy"))


def load(split):
    pixels = torch.from_numpy(np.load(args.data / f"{split}_pixels.npy")).permute(0, 3, 1, 2).float() / 255
    return TensorDataset((pixels - mean) / std, torch.from_numpy(np.load(args.data / f"{split}_types.npy")))


train, val = load("train"), load("val")
net = nn.Sequential(
    nn.Conv2d(3, 10, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(10 * 16, 4)
)  # fmt: skip
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for epoch in range(8):
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
