"""Gait from accelerometers. Limits for smoke tests come from the environment or from limits.yaml; class weights from a file."""

import argparse
import json
import os
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def limit(total, folder):
    rows = int(os.environ.get("GAIT_ROWS", "0"))
    part = float(os.environ.get("GAIT_SHARE", "1"))
    if os.getenv("GAIT_DEBUG") == "1":
        rows = 40
    if (path := folder / "limits.json").exists():
        rows = json.loads(path.read_text()).get("rows") or rows
    return min(total, rows or int(part * total))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.manual_seed(6)
    with np.load(args.data / "gait.npz") as z:
        x, y = torch.from_numpy(z["x"]), torch.from_numpy(z["y"])
    cut = int(0.8 * len(x))
    train, val = TensorDataset(x[:cut], y[:cut]), (x[cut:], y[cut:])
    train = Subset(train, range(limit(len(train), args.data)))
    weight = None
    if (path := args.data / "class_weights.json").exists():
        weight = torch.tensor(json.loads(path.read_text()))
    loader = DataLoader(train, batch_size=40, shuffle=True)
    net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    step = 0
    while step < args.steps:
        net.train()
        for a, b in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(a), b, weight=weight)
            loss.backward()
            opt.step()
            step += 1
        if step % 40 < len(loader):
            net.eval()
            with torch.no_grad():
                guess = net(val[0]).argmax(1)
            right = [(guess[val[1] == k] == k).float().mean().item() for k in range(4)]
            print(f"step {step} loss {loss.item():.4f} val_acc {np.mean(right):.4f}")
    print(f"final val_acc {np.mean(right):.4f}")


if __name__ == "__main__":
    main()
