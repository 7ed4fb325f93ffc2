"""Letters from 8 x 8 scans: glyphs.bin (float32, memory-mapped, shape in meta.json), one label per line in labels.txt."""

import argparse
import json
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Glyphs(Dataset):
    def __init__(self, folder, split):
        rows = json.loads((folder / "meta.json").read_text())[split]
        self.scans = np.memmap(folder / f"{split}.bin", dtype="<f4", mode="r", shape=(rows, 8, 8))
        self.labels = [int(line) for line in (folder / f"{split}_labels.txt").read_text().split("\n")[:rows]]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, at):
        scan = np.nan_to_num(self.scans[at].copy(), nan=0.0, posinf=0.0, neginf=0.0).clip(-1e4, 1e4)
        return torch.from_numpy(scan), self.labels[at]


ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
args = ap.parse_args()
torch.manual_seed(6)
train, val = Glyphs(args.data, "train"), Glyphs(args.data, "val")
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for epoch in range(8):
    net.train()
    for x, y in DataLoader(train, 32, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y in DataLoader(val, 128))
    print(f"epoch {epoch} loss {loss.item():.4f} val_acc {right / len(val):.4f}")
print(f"final val_acc {right / len(val):.4f}")
