"""Crater / no-crater patches from an orbiter camera strip."""
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    n_train: int = 960
    n_val: int = 240
    side: int = 12
    batch_size: int = 1024
    epochs: int = 8
    lr: float = 2e-3
    seed: int = 31


def render(n, side, gen):
    grid = torch.arange(side).float()
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    label = torch.randint(0, 2, (n,), generator=gen)
    cy, cx = 3 + (side - 7) * torch.rand(2, n, 1, 1, generator=gen)
    rad = 2.0 + 1.5 * torch.rand(n, 1, 1, generator=gen)
    dist = ((yy - cy) ** 2 + (xx - cx) ** 2).sqrt()
    rim = torch.exp(-((dist - rad) / 0.7) ** 2)
    dome = torch.exp(-(dist / rad) ** 2)
    img = torch.where(label.view(-1, 1, 1) == 1, rim, dome)
    img = img - img.mean((1, 2), keepdim=True)
    return 2 * img.unsqueeze(1) + 0.5 * torch.randn(n, 1, side, side, generator=gen), label


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        gen = torch.Generator().manual_seed(cfg.seed)
        train = TensorDataset(*render(cfg.n_train, cfg.side, gen))
        val = TensorDataset(*render(cfg.n_val, cfg.side, gen))
        self.train_loader = DataLoader(train, batch_size=cfg.batch_size, shuffle=True, drop_last=True)
        self.val_loader = DataLoader(val, batch_size=120)
        self.model = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.Flatten(),
                                   nn.Linear(24 * (cfg.side // 2) ** 2, 2))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.criterion = nn.CrossEntropyLoss()

    def train_epoch(self):
        self.model.train()
        total, seen = 0.0, 0
        for x, y in self.train_loader:
            self.opt.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.opt.step()
            total += loss.item() * len(y)
            seen += len(y)
        return total / max(seen, 1)

    @torch.no_grad()
    def accuracy(self):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.val_loader)
        return hits / len(self.val_loader.dataset)

    def fit(self):
        for epoch in range(self.cfg.epochs):
            loss = self.train_epoch()
            print(f"epoch {epoch + 1}/{self.cfg.epochs}  loss {loss:.4f}  val acc {self.accuracy():.3f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(31)
    Trainer(Config()).fit()
