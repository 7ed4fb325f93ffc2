"""Tiles of ground cover: colour images in class folders, or in zip or tar files with the class as folder."""

import argparse
import io
import json
import pathlib
import tarfile
import zipfile

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


def files(folder, split):
    if (folder / split).is_dir():
        return [(path.parent.name, path.read_bytes()) for path in sorted((folder / split).glob("*/*.png"))]
    if (path := folder / f"{split}.zip").exists():
        with zipfile.ZipFile(path) as archive:
            return [(name.split("/")[0], archive.read(name)) for name in sorted(archive.namelist())]
    with tarfile.open(folder / f"{split}.tar") as archive:
        return [(member.name.split("/")[0], archive.extractfile(member).read()) for member in archive]


class Tiles(Dataset):
    def __init__(self, folder, split, classes, mean, std):
        found = files(folder, split)
        self.classes = classes or sorted({name for name, _ in found})
        number = {name: at for at, name in enumerate(self.classes)}
        self.y = [number.get(name, 0) for name, _ in found]
        pixels = np.stack([np.asarray(Image.open(io.BytesIO(data)).convert("RGB")) for _, data in found])
        self.x = (torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255 - mean) / std

    def __len__(self):
        return len(self.y)

    def __getitem__(self, at):
        return self.x[at], self.y[at]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--epochs", type=int, default=6)
    args = ap.parse_args()
    torch.manual_seed(2)
    mean, std = 0.5, 0.25
    if (path := args.data / "stats.json").exists():
        stats = json.loads(path.read_text())
        mean, std = (torch.tensor(stats[name]).view(3, 1, 1) for name in ("mean", "std"))
    train = Tiles(args.data, "train", None, mean, std)
    val = Tiles(args.data, "val", train.classes, mean, std)
    loader = DataLoader(train, batch_size=32, shuffle=True)
    val_loader = DataLoader(val, batch_size=100)
    net = nn.Sequential(
        nn.Conv2d(3, 12, 3, stride=2),
        nn.Tanh(),
        nn.Conv2d(12, 24, 3, stride=2),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(24 * 4, 4),
    )
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(args.epochs):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
        net.eval()
        hit = 0
        with torch.no_grad():
            for x, y in val_loader:
                hit += (net(x).argmax(1) == y).sum().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {hit / len(val):.4f}")
    print(f"final val_acc {hit / len(val):.4f}")


if __name__ == "__main__":
    main()
