"""Rented bicycles in the next hour: train.csv and val.csv with `ts` (seconds since 1970), weather and `rides`."""

import argparse
import csv
import math
import pathlib

import torch
from torch import nn

DAY = 86400


def read(path):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    x, y = [], []
    for row in rows:
        angle = 2 * math.pi * (int(row["ts"]) % DAY) / DAY
        week = 2 * math.pi * (int(row["ts"]) % (7 * DAY)) / (7 * DAY)
        x.append(
            [math.sin(angle), math.cos(angle), math.sin(week), math.cos(week)]
            + [float(row[name]) for name in ("temperature", "wind", "cloud")]
        )
        y.append(float(row["rides"]))
    return torch.tensor(x), torch.tensor(y)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--epochs", type=int, default=15)
    args = ap.parse_args()
    torch.manual_seed(5)
    x, y = read(args.data / "train.csv")
    vx, vy = read(args.data / "val.csv")
    mean, std = x.mean(0), x.std(0)
    x, vx = (x - mean) / std, (vx - mean) / std
    centre, spread = y.mean(), y.std()
    net = nn.Sequential(nn.Linear(7, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        net.train()
        for idx in torch.randperm(len(x)).split(32):
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(x[idx])[:, 0], (y[idx] - centre) / spread)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            error = (net(vx)[:, 0] * spread + centre - vy).abs().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_error {error:.3f}")
    print(f"final val_error {error:.3f}")


if __name__ == "__main__":
    main()
