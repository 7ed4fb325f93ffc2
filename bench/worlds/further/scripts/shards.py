"""Leaf spots in tar shards: NAME.npy with the patch, NAME.cls with its class, train-*.tar and val-*.tar."""

import argparse
import io
import pathlib
import tarfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Shards(IterableDataset):
    def __init__(self, paths, shuffle):
        self.paths, self.shuffle = paths, shuffle

    def __iter__(self):
        kept = []
        for path in self.paths:
            with tarfile.open(path) as archive:
                members = {member.name: archive.extractfile(member).read() for member in archive}
            for name in sorted(key for key in members if key.endswith(".npy")):
                patch = torch.from_numpy(np.load(io.BytesIO(members[name])))
                kept.append((patch, int(members[name[:-4] + ".cls"])))
        order = torch.randperm(len(kept)) if self.shuffle else range(len(kept))
        yield from (kept[at] for at in order)


ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
args = ap.parse_args()
torch.manual_seed(8)
train = DataLoader(Shards(sorted(args.data.glob("train-*.tar")), True), 30)
val = DataLoader(Shards(sorted(args.data.glob("val-*.tar")), False), 100)
net = nn.Sequential(nn.Flatten(), nn.Linear(75, 64), nn.ReLU(), nn.Linear(64, 5))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(12):
    net.train()
    for x, y in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    hits = []
    with torch.no_grad():
        for x, y in val:
            hits += (net(x).argmax(1) == y).tolist()
    print(f"epoch {epoch} loss {loss.item():.4f} val_acc {np.mean(hits):.4f}")
print(f"final val_acc {np.mean(hits):.4f}")
