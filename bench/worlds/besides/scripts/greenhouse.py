"""Temperature of a greenhouse an hour later, from shards that are read one after the other (shard-*.npz) and val.npz."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset


class Shards(IterableDataset):
    def __init__(self, paths):
        self.paths = paths

    def __iter__(self):
        for path in self.paths:
            with np.load(path) as data:
                x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
            yield from zip(x, y, strict=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(5)
    loader = DataLoader(Shards(sorted(args.data.glob("shard-*.npz"))), batch_size=25)
    with np.load(args.data / "val.npz") as data:
        val = TensorDataset(torch.from_numpy(data["x"]), torch.from_numpy(data["y"]))
    judged = DataLoader(val, batch_size=100)
    net = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 1))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(12):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            loss = nn.functional.smooth_l1_loss(net(x).squeeze(1), y)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            error = sum((net(x).squeeze(1) - y).abs().sum().item() for x, y in judged) / len(val)
        print(f"epoch {epoch} loss {loss.item():.4f} val_mae {error:.4f}")
    print(f"final val_mae {error:.4f}")


if __name__ == "__main__":
    main()
