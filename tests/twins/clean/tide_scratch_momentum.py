"""Harmonic tide predictor trained by a hand-written heavy-ball update."""
import math

import torch
import torch.nn as nn

PERIODS_H = (12.42, 12.00, 25.82, 23.93)  # M2, S2, O1, K1


class TideNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.harmonic = nn.Linear(2 * len(PERIODS_H), 1)
        self.surge = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, hours, weather):
        w = 2 * math.pi * hours[:, None] / torch.tensor(PERIODS_H)
        return (self.harmonic(torch.cat([w.sin(), w.cos()], 1)) + self.surge(weather)).squeeze(1)


class HeavyBall:
    def __init__(self, params, lr, mu=0.9):
        self.params, self.lr, self.mu = list(params), lr, mu
        self.velocity = [torch.zeros_like(p.data) for p in self.params]

    def update(self):
        for p, v in zip(self.params, self.velocity):
            v.mul_(self.mu).add_(p.grad.data)
            p.data.add_(v, alpha=-self.lr)

    def clear(self):
        for p in self.params:
            if p.grad is not None:
                p.grad.zero_()


def gauge(n, g):
    hours = 4000 * torch.rand(n, generator=g)
    weather = torch.randn(n, 2, generator=g)  # standardised pressure and wind
    level = 0.0
    for k, (amp, ph) in enumerate([(1.4, 0.3), (0.5, 1.1), (0.25, 2.0), (0.3, 4.0)]):
        level = level + amp * torch.cos(2 * math.pi * hours / PERIODS_H[k] - ph)
    level = level - 0.3 * weather[:, 0] + 0.15 * weather[:, 1].clamp(min=0) ** 2
    return hours, weather, level + 0.05 * torch.randn(n, generator=g)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(66)
    g = torch.Generator().manual_seed(66)
    data, val = gauge(2000, g), gauge(400, g)
    net = TideNet()
    rule = HeavyBall(net.parameters(), lr=0.02)
    for epoch in range(10):
        rule.lr = 0.02 * 0.85 ** epoch
        s = 0.0
        for idx in torch.randperm(2000, generator=g).split(50):
            h, w, lev = (t[idx] for t in data)
            loss = (net(h, w) - lev).pow(2).mean()
            rule.clear()
            loss.backward()
            rule.update()
            s += loss.item()
        with torch.no_grad():
            rmse = (net(val[0], val[1]) - val[2]).pow(2).mean().sqrt().item()
        print(f"epoch {epoch} mse {s / 40:.5f} val rmse {rmse:.4f} m (instrument noise 0.05)")


if __name__ == "__main__":
    main()
