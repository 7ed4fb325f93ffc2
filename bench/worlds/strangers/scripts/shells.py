"""Shells by a head on a frozen encoder: encoder.pt was trained elsewhere; shells.npz has x, y, vx, vy."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def encoder():
    return nn.Sequential(
        nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU()
    )


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(6)
    body = encoder()
    body.load_state_dict(torch.load(args.data / "encoder.pt"))
    body.eval().requires_grad_(False)
    head = nn.Linear(32, 6)
    data = {name: torch.from_numpy(value) for name, value in np.load(args.data / "shells.npz").items()}
    loader = DataLoader(TensorDataset(data["x"], data["y"]), batch_size=32, shuffle=True)
    opt = torch.optim.AdamW(head.parameters(), lr=3e-3)
    for epoch in range(10):
        head.train()
        for x, y in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(head(body(x)), y)
            loss.backward()
            opt.step()
        head.eval()
        with torch.no_grad():
            acc = (head(body(data["vx"])).argmax(1) == data["vy"]).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
    print(f"final val_acc {acc:.4f}")


if __name__ == "__main__":
    main()
