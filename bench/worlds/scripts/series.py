"""Load of a bridge from three sensors: sequences in shards (part-0.npy, ...), read as memory maps, and val.npz."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--epochs", type=int, default=8)
    args = ap.parse_args()
    torch.manual_seed(3)
    shards = [np.load(path, mmap_mode="r") for path in sorted(args.data.glob("part-*.npy"))]
    whole = torch.from_numpy(np.concatenate(shards)).float()
    x, y = whole[:, :-1], whole[:, -1, 0]
    with np.load(args.data / "val.npz") as z:
        vx, vy = torch.from_numpy(z["x"]).float(), torch.from_numpy(z["y"]).float()
    mean, std = x.mean((0, 1)), x.std((0, 1))
    centre, spread = y.mean(), y.std()
    x, vx, y, vy = (x - mean) / std, (vx - mean) / std, (y - centre) / spread, (vy - centre) / spread
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(args.epochs):
        net.train()
        for idx in torch.randperm(len(x)).split(40):
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(x[idx]), y[idx])
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        net.eval()
        with torch.no_grad():
            error = nn.functional.mse_loss(net(vx), vy).item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_mse {error:.4f}")
    print(f"final val_mse {error:.4f}")


if __name__ == "__main__":
    main()
