"""Glands in slices: SPLIT/slices/*.png with SPLIT/masks/*.png beside them, 1 where there is a gland."""

import argparse
import pathlib

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slices(Dataset):
    def __init__(self, folder):
        self.paths = sorted((folder / "slices").glob("*.png"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, at):
        path = self.paths[at]
        mask = path.parent.parent / "masks" / path.name
        x = torch.from_numpy(np.array(Image.open(path), dtype="float32") / 255)
        return x.unsqueeze(0), torch.from_numpy(np.array(Image.open(mask), dtype="float32")).unsqueeze(0)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(7)
    train, val = Slices(args.data / "train"), Slices(args.data / "val")
    loader = DataLoader(train, batch_size=16, shuffle=True)
    judged = DataLoader(val, batch_size=40)
    net = nn.Sequential(nn.Conv2d(1, 12, 5, padding=2), nn.ReLU(), nn.Conv2d(12, 1, 5, padding=2))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(5):
        net.train()
        for x, mask in loader:
            opt.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(net(x), mask)
            loss.backward()
            opt.step()
        net.eval()
        both = whole = 0.0
        with torch.no_grad():
            for x, mask in judged:
                guess = (net(x) > 0).float()
                both += (guess * mask).sum().item()
                whole += guess.sum().item() + mask.sum().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_dice {2 * both / whole:.4f}")
    print(f"final val_dice {2 * both / whole:.4f}")


if __name__ == "__main__":
    main()
