"""Welds from grey X-ray pictures: train/ and val/ with one folder per kind of flaw."""

import argparse
import pathlib

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Welds(Dataset):
    def __init__(self, folder):
        self.names = sorted(path.name for path in folder.iterdir() if path.is_dir())
        self.files = [
            (path, at) for at, name in enumerate(self.names) for path in sorted((folder / name).glob("*.png"))
        ]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, at):
        path, label = self.files[at]
        x = np.asarray(Image.open(path), dtype="float32")[None] / 255
        return torch.from_numpy(x) - 0.5, label


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(4)
    train, val = Welds(args.data / "train"), Welds(args.data / "val")
    net = nn.Sequential(
        nn.Conv2d(1, 12, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(12, 24, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(24 * 9, 5),
    )
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for epoch in range(10):
        net.train()
        for x, y in DataLoader(train, batch_size=24, shuffle=True):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            right = sum((net(x).argmax(1) == y).sum().item() for x, y in DataLoader(val, batch_size=64))
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {right / len(val):.4f}")
    print(f"final val_acc {right / len(val):.4f}")


if __name__ == "__main__":
    main()
