"""30-minute-ahead glucose forecast (mg/dL) from a wearable; command line entry point."""
import argparse

import numpy as np
import torch
from torch import nn


def cohort(n, rng):
    now = rng.normal(120, 30, n)
    slope = rng.normal(0, 2, n)
    carbs = rng.gamma(2, 15, n)
    insulin = rng.gamma(2, 1.5, n)
    pulse = rng.normal(75, 12, n)
    steps = rng.gamma(2, 150, n)
    ahead = now + 8 * slope + 0.6 * carbs - 5 * insulin - 0.01 * steps * (pulse > 75) + rng.normal(0, 4, n)
    table = np.column_stack([now, slope, carbs, insulin, pulse, steps]).astype(np.float32)
    return torch.from_numpy(table), torch.from_numpy(((ahead - 120) / 40).astype(np.float32))[:, None]


def build(width):
    return nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))


def train_one_epoch(net, opt, x, y, batch):
    net.train()
    total = 0.0
    for rows in torch.randperm(len(x)).split(batch):
        opt.zero_grad()
        loss = nn.functional.smooth_l1_loss(net(x[rows]), y[rows])
        loss.backward()
        opt.step()
        total += loss.item() * len(rows)
    return total / len(x)


@torch.no_grad()
def rmse(net, x, y):
    net.eval()
    return 40 * nn.functional.mse_loss(net(x), y).sqrt().item()


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--width", type=int, default=48)
    ap.add_argument("--lr", type=float, default=2e-3)
    opts = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(61)
    rng = np.random.default_rng(61)
    x_train, y_train = cohort(2000, rng)
    x_val, y_val = cohort(400, rng)
    mu, sigma = x_train.mean(0), x_train.std(0)
    x_train = (x_train - mu) / sigma
    net = build(opts.width)
    opt = torch.optim.Adam(net.parameters(), lr=opts.lr)
    for epoch in range(1, opts.epochs + 1):
        loss = train_one_epoch(net, opt, x_train, y_train, 50)
        print(f"epoch={epoch} train_loss={loss:.4f} val_rmse={rmse(net, x_val, y_val):.1f} mg/dL")


if __name__ == "__main__":
    main()
