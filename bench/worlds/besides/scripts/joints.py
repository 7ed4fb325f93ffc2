"""Angles of three joints from eight muscles: train.npz and val.npz with x (n, 8) and y (n, 3)."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def read(path):
    with np.load(path) as data:
        return TensorDataset(torch.from_numpy(data["x"]), torch.from_numpy(data["y"]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(4)
    train, val = read(args.data / "train.npz"), read(args.data / "val.npz")
    loader = DataLoader(train, batch_size=32, shuffle=True)
    judged = DataLoader(val, batch_size=64)
    net = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 3))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    for epoch in range(12):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            error = sum(criterion(net(x), y).item() * len(x) for x, y in judged) / len(val)
        print(f"epoch {epoch} loss {loss.item():.4f} val_mse {error:.4f}")
    print(f"final val_mse {error:.4f}")


if __name__ == "__main__":
    main()
