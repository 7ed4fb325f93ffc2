"""Comets by their light curve: curves*.npy in parts, kinds.npy with the label of each row, in the order of the parts."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(9)
    parts = [np.load(path, mmap_mode="r") for path in sorted(args.data.glob("curves*.npy"))]
    x = torch.from_numpy(np.concatenate(parts))
    y = torch.from_numpy(np.load(args.data / "kinds.npy"))
    assert len(x) == len(y)
    order = torch.randperm(len(x))
    cut = int(0.8 * len(x))
    mean, std = x[order[:cut]].mean(0), x[order[:cut]].std(0)
    x = (x - mean) / std
    loader = DataLoader(TensorDataset(x[order[:cut]], y[order[:cut]]), batch_size=32, shuffle=True)
    vx, vy = x[order[cut:]], y[order[cut:]]
    net = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Linear(64, 4))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for epoch in range(10):
        net.train()
        for bx, by in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(bx), by)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            acc = (net(vx).argmax(1) == vy).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
    print(f"final val_acc {acc:.4f}")


if __name__ == "__main__":
    main()
