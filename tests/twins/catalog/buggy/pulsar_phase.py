"""Pulsar flux model: a bf16 network on top of harmonic phases that are computed in a float32 region."""
import math
from dataclasses import dataclass
from typing import Callable

import torch
import torch.nn as nn

PERIODS = torch.tensor([7.3, 11.9, 29.4])


@dataclass(frozen=True)
class Symbol:
    name: str
    module: str
    fn: Callable


def _phase(t, periods):
    return 2 * math.pi * (t[:, None] / periods)


PHASE = Symbol("phase", "kernels", _phase)
SIN = Symbol("sin", "torch", torch.sin)
COS = Symbol("cos", "torch", torch.cos)


class Executor:
    """Runs symbols under the precision of the surrounding autocast region."""

    def __init__(self, low=torch.bfloat16):
        self.low = low

    def __call__(self, sym, *args):
        if sym.module != "torch":  # torch's own dispatcher does not know our kernels: cast here
            args = [a.to(self.low) for a in args]
        return sym.fn(*args)


class FluxNet(nn.Module):
    def __init__(self, run, h=48):
        super().__init__()
        self.run = run
        self.mlp = nn.Sequential(nn.Linear(7, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 1))

    def forward(self, t, dm):
        with torch.autocast("cpu", enabled=False):  # t reaches 4000 h, phases need float32
            ph = self.run(PHASE, t, PERIODS)
            feats = torch.cat([self.run(SIN, ph), self.run(COS, ph), dm[:, None]], 1).float()
        return self.mlp(feats).squeeze(1)


def observations(n, g):
    t, dm = 4000 * torch.rand(n, generator=g), torch.randn(n, generator=g)
    w = 2 * math.pi * t[:, None] / PERIODS
    y = w[:, 0].sin() * (1 + 0.3 * dm) + 0.6 * w[:, 1].cos() + 0.5 * (w[:, 0] - w[:, 2]).sin()
    return t, dm, y + 0.05 * torch.randn(n, generator=g)


def main(epochs=10, bs=50):
    torch.set_num_threads(1)
    torch.manual_seed(725)
    g = torch.Generator().manual_seed(725)
    t, dm, y = observations(2000, g)
    vt, vdm, vy = observations(500, g)
    net = FluxNet(Executor())
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(t), generator=g).split(bs):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                pred = net(t[idx], dm[idx])
            loss = (pred.float() - y[idx]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            rmse = (net(vt, vdm).float() - vy).pow(2).mean().sqrt().item()
        print(f"epoch {epoch} train mse {total / len(t):.4f} val rmse {rmse:.4f}")


if __name__ == "__main__":
    main()
