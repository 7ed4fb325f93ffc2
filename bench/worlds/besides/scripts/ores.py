"""Kinds of ore from a spectrum (train.h5, val.h5: x, y). What is not trained yet is judged first, as a baseline."""

import argparse
import pathlib

import h5py
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def read(path):
    with h5py.File(path) as file:
        return TensorDataset(torch.from_numpy(file["x"][:]), torch.from_numpy(file["y"][:]))


def accuracy(net, loader):
    net.eval()
    right = rows = 0
    with torch.no_grad():
        for x, y in loader:
            right += (net(x).argmax(1) == y).sum().item()
            rows += len(y)
    return right / rows


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(8)
    train, val = read(args.data / "train.h5"), read(args.data / "val.h5")
    loader, judged = DataLoader(train, batch_size=32, shuffle=True), DataLoader(val, batch_size=100)
    net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 5))
    print(f"baseline {accuracy(net, judged):.4f}")
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(10):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    print(f"final val_acc {accuracy(net, judged):.4f}")


if __name__ == "__main__":
    main()
