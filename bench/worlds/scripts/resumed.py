"""Sums of a few numbers; goes on from last.pt where there is one, and keeps the best weights in best.pt."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(5)
    with np.load(args.data / "sums.npz") as z:
        x, y = torch.from_numpy(z["x"]), torch.from_numpy(z["y"])
    cut = int(0.8 * len(x))
    net = build()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    start, best = 0, 0.0
    if (path := args.data / "last.pt").exists():
        state = torch.load(path, weights_only=True)
        net.load_state_dict(state["model"], strict=False)
        opt.load_state_dict(state["optimizer"])
        start, best = state["epoch"] + 1, state.get("best_acc", 0.0)
    for epoch in range(start, args.epochs):
        net.train()
        for idx in torch.randperm(cut).split(32):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            acc = (net(x[cut:]).argmax(1) == y[cut:]).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
        if acc > best:
            best = acc
            torch.save({"model": net.state_dict(), "best_acc": best}, "best.pt")
    if pathlib.Path("best.pt").exists():
        net.load_state_dict(torch.load("best.pt", weights_only=True)["model"])
    net.eval()
    with torch.no_grad():
        acc = (net(x[cut:]).argmax(1) == y[cut:]).float().mean().item()
    print(f"final {'kept' if pathlib.Path('best.pt').exists() else 'lost'}_acc {acc:.4f}")


if __name__ == "__main__":
    main()
