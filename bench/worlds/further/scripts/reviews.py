"""Which cuisine a review is about, from its words. `--data` has train.csv and val.csv with `text` and `cuisine`."""

import argparse
import csv
import pathlib
import zlib

import torch
from torch import nn

SLOTS, LENGTH = 4096, 14


def read(path):
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        return list(csv.DictReader(file))


def encode(rows):
    x = torch.zeros(len(rows), LENGTH, dtype=torch.long)
    for at, row in enumerate(rows):
        words = row["text"].lower().split()[:LENGTH]
        for place, word in enumerate(words):
            x[at, place] = 1 + zlib.crc32(word.encode()) % (SLOTS - 1)
    return x


class Bag(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.table = nn.Embedding(SLOTS, 24, padding_idx=0)
        self.head = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, x):
        seen = (x > 0).sum(1, keepdim=True).clamp_min(1)
        return self.head(self.table(x).sum(1) / seen)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--epochs", type=int, default=12)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, val = read(args.data / "train.csv"), read(args.data / "val.csv")
    names = sorted({row["cuisine"] for row in train})
    x, vx = encode(train), encode(val)
    y, vy = (torch.tensor([names.index(row["cuisine"]) for row in rows]) for rows in (train, val))
    net = Bag(len(names))
    opt = torch.optim.AdamW(net.parameters(), lr=4e-3)
    for epoch in range(args.epochs):
        net.train()
        for idx in torch.randperm(len(x)).split(32):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            acc = (net(vx).argmax(1) == vy).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
    print(f"final val_acc {acc:.4f}")


if __name__ == "__main__":
    main()
