"""Plankton by shape: plankton.npz has grey pictures; augment.yaml says how training pictures are disturbed."""

import argparse
import pathlib

import numpy as np
import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Plankton(Dataset):
    def __init__(self, x, y, augment=None):
        self.x, self.y, self.augment = torch.from_numpy(x), torch.from_numpy(y), augment

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        x = self.x[at][None].float() / 255
        if self.augment:
            if torch.rand(()) < 0.5:
                x = x.flip(-1)
            x = x + self.augment["noise"] * torch.randn_like(x)
        return x, self.y[at]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(3)
    augment = yaml.safe_load((args.data / "augment.yaml").read_text())
    data = np.load(args.data / "plankton.npz")
    train = DataLoader(Plankton(data["x"], data["y"], augment), batch_size=32, shuffle=True)
    val = DataLoader(Plankton(data["vx"], data["vy"]), batch_size=64)
    net = nn.Sequential(
        nn.Conv2d(1, 12, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(12, 24, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(24 * 16, 4),
    )
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for epoch in range(8):
        net.train()
        for x, y in train:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            right = sum((net(x).argmax(1) == y).sum().item() for x, y in val)
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {right / len(val.dataset):.4f}")
    print(f"final val_acc {right / len(val.dataset):.4f}")


if __name__ == "__main__":
    main()
