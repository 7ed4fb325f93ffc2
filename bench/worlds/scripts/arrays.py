"""Minerals from ten spectral bands: x and y of train and val, in npz, npy, HDF5 or torch files, columns by position."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load(folder, split):
    if (path := folder / f"{split}.npz").exists():
        with np.load(path) as z:
            return torch.from_numpy(z["x"]).float(), torch.from_numpy(z["y"]).long()
    if (path := folder / f"x_{split}.npy").exists():
        return torch.from_numpy(np.load(path)).float(), torch.from_numpy(
            np.load(folder / f"y_{split}.npy")
        ).long()
    if (path := folder / f"{split}.h5").exists():
        import h5py

        with h5py.File(path) as file:
            return torch.from_numpy(file["x"][...]).float(), torch.from_numpy(file["y"][...]).long()
    state = torch.load(folder / f"{split}.pt", weights_only=True)
    return state["x"].float(), state["y"].long()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--raw", action="store_true", help="the files are standardised already")
    args = ap.parse_args()
    torch.manual_seed(1)
    (x, y), (vx, vy) = load(args.data, "train"), load(args.data, "val")
    if not args.raw:
        mean, std = x.mean(0), x.std(0).clamp_min(1e-6)
        x, vx = (x - mean) / std, (vx - mean) / std
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    val_loader = DataLoader(TensorDataset(vx, vy), batch_size=128)
    net = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        net.train()
        for a, b in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(a), b)
            loss.backward()
            opt.step()
        net.eval()
        hit = 0
        with torch.no_grad():
            for a, b in val_loader:
                hit += (net(a).argmax(1) == b).sum().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {hit / len(vy):.4f}")
    print(f"final val_acc {hit / len(vy):.4f}")


if __name__ == "__main__":
    main()
