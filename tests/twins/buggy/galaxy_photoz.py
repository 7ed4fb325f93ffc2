"""Photometric redshift from broad-band colours, small micro-batches with accumulated gradients."""
import numpy as np
import torch
from torch import nn


class Config:
    micro_batch = 16
    accum_steps = 8
    epochs = 12
    lr = 0.1
    momentum = 0.9
    width = 48


def survey(n, rng):
    z = rng.gamma(3.0, 0.25, n)
    kind = rng.random(n)
    bands = np.linspace(0.3, 1.0, 7)
    brk = 0.4 * (1 + z)[:, None]
    flux = 1 / (1 + np.exp(-(bands[None] - brk * 0.6) * 14)) * (0.5 + kind[:, None]) + 0.3 * kind[:, None] * bands[None]
    mags = -np.log(flux + 0.05) + rng.normal(0, 0.03, flux.shape)
    mags = (mags - 0.75) / 0.8
    target = (z - 0.75) / 0.43
    return torch.tensor(mags, dtype=torch.float32), torch.tensor(target, dtype=torch.float32)


class PhotoZ(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(7, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                                    nn.Linear(width, 1))

    def forward(self, mags):
        return self.layers(mags)[:, 0]


class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.criterion = nn.HuberLoss(delta=1.0)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=cfg.momentum)

    def train_epoch(self, x, y):
        cfg = self.cfg
        self.model.train()
        self.optimizer.zero_grad()
        running = 0.0
        for i, idx in enumerate(torch.randperm(len(x)).split(cfg.micro_batch), start=1):
            loss = self.criterion(self.model(x[idx]), y[idx])
            running += loss.item() * len(idx)
            loss.backward()
            if i % cfg.accum_steps == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
        return running / len(x)

    @torch.no_grad()
    def scatter(self, x, y):
        self.model.eval()
        return (self.model(x) - y).abs().mean().item()

    def fit(self, train, valid):
        for epoch in range(self.cfg.epochs):
            loss = self.train_epoch(*train)
            print(f"epoch {epoch:2d}  huber {loss:.4f}  valid mae {self.scatter(*valid):.4f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(121)
    rng = np.random.default_rng(121)
    n = Config.micro_batch * Config.accum_steps
    train, valid = survey(30 * n, rng), survey(600, rng)
    Trainer(Config, PhotoZ(Config.width)).fit(train, valid)
