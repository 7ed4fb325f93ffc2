"""Which way a traffic sign points and what colour it has: folders of images, one per class."""

import argparse
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Folder(Dataset):
    def __init__(self, root, classes):
        self.classes = classes
        self.items = [
            (path, at) for at, name in enumerate(classes) for path in sorted((root / name).iterdir())
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, at):
        path, label = self.items[at]
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"), dtype=np.float32)
        return torch.from_numpy(pixels / 127.5 - 1).permute(2, 0, 1), label


def network(classes):
    return nn.Sequential(
        nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 9, classes),
    )  # fmt: skip


def main(folder, epochs):
    torch.manual_seed(3)
    classes = sorted(path.name for path in (folder / "train").iterdir())
    train, val = Folder(folder / "train", classes), Folder(folder / "val", classes)
    loader, judge = DataLoader(train, 25, shuffle=True), DataLoader(val, 50)
    net = network(len(classes))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for epoch in range(epochs):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            right = sum((net(x).argmax(1) == y).sum().item() for x, y in judge)
        print(f"epoch {epoch} train_loss {loss.item():.4f} val_acc {right / len(val):.4f}")
    print(f"final val_acc {right / len(val):.4f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=Path, required=True)
    ap.add_argument("--epochs", type=int, default=6)
    args = ap.parse_args()
    main(args.data, args.epochs)
