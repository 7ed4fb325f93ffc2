"""Rents of flats from a vector of their photograph (photos.npy) and a table (flats.csv): a model of two inputs."""

import argparse
import csv
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

COLUMNS = ("area", "floor", "year", "distance")


def read(folder):
    with (folder / "flats.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = torch.tensor([[float(row[c]) for c in COLUMNS] for row in rows])
    rent = torch.tensor([float(row["rent"]) for row in rows])
    return torch.from_numpy(np.load(folder / "photos.npy")), table, rent


class Rent(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Linear(24, 16), nn.ReLU())
        self.facts = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, photo, table):
        return self.head(torch.cat([self.look(photo), self.facts(table)], 1)).squeeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(3)
    train, val = read(args.data / "train"), read(args.data / "val")
    mean, std = train[1].mean(0), train[1].std(0)
    middle, wide = train[2].mean(), train[2].std()
    sets = [TensorDataset(p, (t - mean) / std, (r - middle) / wide) for p, t, r in (train, val)]
    loader = DataLoader(sets[0], batch_size=32, shuffle=True)
    judged = DataLoader(sets[1], batch_size=100)
    net = Rent()
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for epoch in range(10):
        net.train()
        for photo, table, rent in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(photo, table), rent)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            error = sum(((net(p, t) - r) ** 2).sum().item() for p, t, r in judged) / len(sets[1])
        print(f"epoch {epoch} loss {loss.item():.4f} val_mse {error:.4f}")
    print(f"final val_mse {error:.4f}")


if __name__ == "__main__":
    main()
