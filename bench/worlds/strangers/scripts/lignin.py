"""Wood by its spectrum: raw/*.csv, one spectrum each; spectra.pt keeps the smoothed ones for the next run."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

KINDS = ["beech", "larch", "maple", "spruce"]


def smoothed(path):
    raw = np.loadtxt(path, delimiter=",", dtype="float32")
    return np.convolve(raw, np.ones(5) / 5, "same")[::2].astype("float32")


def load(folder):
    kept = folder / "spectra.pt"
    if kept.exists():
        return torch.load(kept)
    files = sorted((folder / "raw").glob("*.csv"))
    x = torch.from_numpy(np.stack([smoothed(path) for path in files]))
    y = torch.tensor([KINDS.index(path.stem.split("-")[1]) for path in files])
    torch.save((x, y), kept)
    return x, y


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(8)
    x, y = load(args.data / "train")
    vx, vy = load(args.data / "val")
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    net = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Linear(64, len(KINDS)))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for epoch in range(12):
        net.train()
        for bx, by in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(bx), by)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            acc = (net(vx).argmax(1) == vy).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
    print(f"final val_acc {acc:.4f}")


if __name__ == "__main__":
    main()
