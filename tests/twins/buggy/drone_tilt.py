"""Tilt estimation from raw accelerometer frames, early stopping on the validation loss."""
from dataclasses import dataclass, field

import torch
import torch.nn as nn

MEAN, STD = torch.tensor([0.0, 0.0, 0.6]), torch.tensor([0.6, 0.5, 0.2])


@dataclass
class Hyper:
    lr: float = 0.02
    momentum: float = 0.9
    batch: int = 50
    epochs: int = 12
    max_norm: float = 5.0
    tol: float = 1e-6
    widths: list = field(default_factory=lambda: [9, 48, 48, 2])


def frames(n, gen):
    tilt = (torch.rand(n, 2, generator=gen) - 0.5) * 2.4
    g = torch.stack([tilt[:, 0].sin(), tilt[:, 1].sin() * tilt[:, 0].cos(), tilt[:, 0].cos() * tilt[:, 1].cos()], 1)
    reps = torch.cat([g + 0.08 * torch.randn(n, 3, generator=gen) for _ in range(3)], 1)
    return (reps - MEAN.repeat(3)) / STD.repeat(3), tilt


def mlp(widths):
    layers = []
    for a, b in zip(widths[:-2], widths[1:-1]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(*widths[-2:]))


class TiltTrainer:
    def __init__(self, hp, gen):
        self.hp, self.gen = hp, gen
        self.net = mlp(hp.widths)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=hp.lr, momentum=hp.momentum)
        self.loss_fn = nn.MSELoss()

    def update(self, x, y):
        self.opt.zero_grad()
        loss = self.loss_fn(self.net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), self.hp.tol)
        self.opt.step()
        return loss.item()

    def validate(self, x, y):
        self.net.eval()
        with torch.no_grad():
            loss = self.loss_fn(self.net(x), y).item()
        self.net.train()
        return loss

    def fit(self, train, val):
        x, y = train
        best = float("inf")
        for epoch in range(self.hp.epochs):
            losses = [self.update(x[r], y[r]) for r in torch.randperm(len(x), generator=self.gen).split(self.hp.batch)]
            v = self.validate(*val)
            print(f"epoch {epoch:2d} train {sum(losses) / len(losses):.4f} val {v:.4f}")
            if abs(best - v) < self.hp.tol:
                break
            best = min(best, v)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(47)
    gen = torch.Generator().manual_seed(47)
    TiltTrainer(Hyper(), gen).fit(frames(2000, gen), frames(400, gen))
