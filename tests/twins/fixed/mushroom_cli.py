#!/usr/bin/env python
"""Edible or not: categorical mushroom attributes -> class."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

CARD = [6, 4, 9, 2, 5, 3, 7, 4]


def sample(n, tables, gen):
    cols = torch.stack([torch.randint(0, c, (n,), generator=gen) for c in CARD], 1)
    v = torch.stack([tables[j][cols[:, j]] for j in range(len(CARD))], 1)
    score = v[:, 0] * v[:, 1] + v[:, 2] * v[:, 3] + v[:, 4] - v[:, 5] * v[:, 6] + 0.5 * v[:, 7]
    return cols, (score > 0).long()


class Attributes(nn.Module):
    def __init__(self, dim=6, hidden=48):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(c, dim) for c in CARD)
        self.mlp = nn.Sequential(nn.Linear(dim * len(CARD), hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, cols):
        z = [t(cols[:, j]) for j, t in enumerate(self.tables)]
        return self.mlp(torch.cat(z, 1))


def cli():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--epochs", default=14, type=int)
    p.add_argument("--lr", default=0.05, type=float)
    p.add_argument("--patience", default=1, type=int)
    p.add_argument("--factor", default=0.2, type=float)
    return p.parse_args()


def main():
    opts = cli()
    torch.set_num_threads(1)
    torch.manual_seed(176)
    gen = torch.Generator().manual_seed(176)
    tables = [torch.randn(c, generator=gen) for c in CARD]
    cols, label = sample(3000, tables, gen)
    vcols, vlabel = sample(600, tables, gen)
    model = Attributes()
    optimizer = torch.optim.SGD(model.parameters(), lr=opts.lr, momentum=0.9)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=opts.factor,
                                                         patience=opts.patience)
    for epoch in range(opts.epochs):
        model.train()
        train_loss = 0.0
        for idx in torch.randperm(len(cols), generator=gen).split(60):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(cols[idx]), label[idx])
            loss.backward()
            optimizer.step()
            train_loss += loss.item() * len(idx) / len(cols)
        model.eval()
        with torch.no_grad():
            out = model(vcols)
            val_loss = F.cross_entropy(out, vlabel).item()
            val_acc = (out.argmax(1) == vlabel).float().mean().item()
        plateau.step(val_loss)
        print(f"{epoch:2d} loss {train_loss:.4f} val_loss {val_loss:.4f} val_acc {val_acc:.3f} "
              f"lr {optimizer.param_groups[0]['lr']:.2e}")


if __name__ == "__main__":
    main()
