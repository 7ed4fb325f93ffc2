"""Surrogate for beam deflection; records are decoded by two DataLoader workers."""
import math

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class BeamRecords(Dataset):
    """Length [m], load [N], modulus [GPa], width and height [mm] -> log10 of the tip deflection [m]."""

    LOW = np.array([0.5, 50, 60, 10, 20])
    HIGH = np.array([3.0, 2000, 220, 60, 120])

    def __init__(self, n, seed, stats=None):
        rng = np.random.default_rng(seed)
        self.raw = rng.uniform(self.LOW, self.HIGH, (n, 5))
        length, load, mod, w, h = self.raw.T
        inertia = (w * 1e-3) * (h * 1e-3) ** 3 / 12
        self.y = np.log10(load * length ** 3 / (3 * mod * 1e9 * inertia)) + rng.normal(0, 0.01, n)
        self.stats = stats or (self.raw.mean(0), self.raw.std(0), self.y.mean(), self.y.std())

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        mx, sx, my, sy = self.stats
        x = torch.tensor((self.raw[i] - mx) / sx, dtype=torch.float32)
        return x, torch.tensor([(self.y[i] - my) / sy], dtype=torch.float32)


def evaluate(net, loader):
    net.eval()
    se, n = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            se += (net(x) - y).pow(2).sum().item()
            n += len(y)
    return math.sqrt(se / n)


def main(epochs=8):
    torch.set_num_threads(1)
    torch.manual_seed(58)
    train_set = BeamRecords(1600, 0)
    val_set = BeamRecords(400, 1, stats=train_set.stats)
    train = DataLoader(train_set, batch_size=40, shuffle=True, num_workers=2, persistent_workers=True)
    val = DataLoader(val_set, batch_size=200)
    net = nn.Sequential(nn.Linear(5, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for x, y in train:
            loss = nn.functional.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} train mse {total / len(train):.5f} val rmse {evaluate(net, val):.4f}")


if __name__ == "__main__":
    main()
