"""Which pixels of an aerial picture are field, wood or water: images/*.png and masks/*.png in train/ and val/."""

import argparse
import pathlib

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Aerial(Dataset):
    def __init__(self, folder):
        self.pictures = sorted((folder / "images").glob("*.png"))
        self.masks = sorted((folder / "masks").glob("*.png"))
        assert [p.name for p in self.pictures] == [p.name for p in self.masks]

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, at):
        x = np.asarray(Image.open(self.pictures[at]), dtype="float32") / 127.5 - 1
        y = np.asarray(Image.open(self.masks[at]), dtype="int64")
        return torch.from_numpy(x).permute(2, 0, 1), torch.from_numpy(y)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(0)
    train = DataLoader(Aerial(args.data / "train"), batch_size=8, shuffle=True)
    val = DataLoader(Aerial(args.data / "val"), batch_size=16)
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 3, 1),
    )
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for epoch in range(6):
        net.train()
        for x, y in train:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
        net.eval()
        right = seen = 0
        with torch.no_grad():
            for x, y in val:
                right += (net(x).argmax(1) == y).sum().item()
                seen += y.numel()
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {right / seen:.4f}")
    print(f"final val_acc {right / seen:.4f}")


if __name__ == "__main__":
    main()
