"""Density of plume positions with affine coupling layers; the objective is a log-likelihood and goes below zero."""
import math

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, d, flip, h=48):
        super().__init__()
        self.flip, self.half = flip, d // 2
        self.net = nn.Sequential(nn.Linear(self.half, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, d))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = 2 * torch.tanh(s / 2)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)


class Flow(nn.Module):
    def __init__(self, d=4, n=6):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(d, k % 2 == 1) for k in range(n))

    def log_prob(self, x):
        logdet = 0.0
        for layer in self.layers:
            x, ld = layer(x)
            logdet = logdet + ld
        return -0.5 * (x ** 2).sum(1) - 0.5 * x.shape[1] * math.log(2 * math.pi) + logdet


def plumes(n, gen):
    t = 3 * torch.rand(n, generator=gen) - 1.5
    x = torch.stack([t, torch.sin(2 * t), t ** 2 - 0.75, 0.5 * torch.cos(3 * t)], 1)
    return x + 0.05 * torch.randn(n, 4, generator=gen)


def fit(epochs=12, bs=100):
    torch.set_num_threads(1)
    torch.manual_seed(212)
    gen = torch.Generator().manual_seed(212)
    train, val = plumes(3000, gen), plumes(800, gen)
    mean, std = train.mean(0), train.std(0)
    train, val = (train - mean) / std, (val - mean) / std
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.85)
    for epoch in range(epochs):
        flow.train()
        tot = 0.0
        for idx in torch.randperm(len(train), generator=gen).split(bs):
            loss = -flow.log_prob(train[idx]).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
            opt.step()
            tot += loss.item() * len(idx)
        sched.step()
        flow.eval()
        with torch.no_grad():
            v = -flow.log_prob(val).mean().item()
        print(f"epoch {epoch:2d} nll {tot / len(train):+.4f} val nll {v:+.4f}")


if __name__ == "__main__":
    fit()
