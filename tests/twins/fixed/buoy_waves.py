"""Significant wave height from buoy telemetry."""
import numpy as np
import torch
from torch import nn


def telemetry(n, rng):
    x = rng.normal(size=(n, 7)).astype(np.float32)
    h = 0.8 * x[:, 0] + 0.5 * x[:, 1] * x[:, 2] + 0.4 * np.abs(x[:, 3]) - 0.3 * x[:, 4]
    h = (h - 0.32) / 1.05 + rng.normal(0, 0.08, n)
    lost = rng.random(n) < 0.04
    x[lost, rng.integers(0, 7, lost.sum())] = np.nan
    return torch.from_numpy(x), torch.from_numpy(h.astype(np.float32))[:, None]


def complete(x, h):
    ok = torch.isfinite(x).all(1)
    return x[ok], h[ok]


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(7, 64), nn.ELU(), nn.Linear(64, 64), nn.ELU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.f(x)


def main(epochs=12, bs=50):
    torch.set_num_threads(1)
    torch.manual_seed(15)
    rng = np.random.default_rng(15)
    x, h = complete(*telemetry(2200, rng))
    xv, hv = complete(*telemetry(500, rng))
    net = WaveNet()
    opt = torch.optim.Adam(net.parameters(), lr=1.5e-3)
    for epoch in range(epochs):
        net.train()
        losses = []
        for rows in torch.randperm(len(x)).split(bs):
            loss = nn.functional.mse_loss(net(x[rows]), h[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            mae = (net(xv) - hv).abs().mean().item()
        print(f"epoch {epoch:2d} train mse {np.mean(losses):.4f} val mae {mae:.4f}")


if __name__ == "__main__":
    main()
