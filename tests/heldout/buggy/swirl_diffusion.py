import math

import torch
from torch import nn

settings = dict(timesteps=40, hidden=96, batch=128, steps=1000, log_every=100,
                optim=dict(lr=1e-9, betas=(0.9, 0.99)), seed=55)


def swirl(n, g):
    u = torch.rand(n, generator=g).sqrt() * 3 * math.pi
    pts = torch.stack([u * torch.cos(u), u * torch.sin(u)], 1) / 5.0
    return pts + 0.03 * torch.randn(n, 2, generator=g)


def cosine_alpha_bar(T):
    t = torch.linspace(0, 1, T + 1)[1:]
    return torch.cos((t + 0.01) / 1.02 * math.pi / 2) ** 2


class Denoiser(nn.Module):
    def __init__(self, hidden, T):
        super().__init__()
        self.time = nn.Embedding(T, hidden)
        self.inp = nn.Linear(2, hidden)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.out = nn.Linear(hidden, 2)

    def forward(self, x, t):
        return self.out(self.mid(self.inp(x) + self.time(t)))


@torch.no_grad()
def val_error(net, x0, abar, g):
    net.eval()
    t = torch.arange(len(x0)) % len(abar)
    eps = torch.randn(x0.shape, generator=g)
    a = abar[t][:, None]
    pred = net(a.sqrt() * x0 + (1 - a).sqrt() * eps, t)
    return (pred - eps).pow(2).mean().item()


def fit(s):
    torch.set_num_threads(1)
    torch.manual_seed(s["seed"])
    g = torch.Generator().manual_seed(s["seed"])
    abar = cosine_alpha_bar(s["timesteps"])
    net = Denoiser(s["hidden"], s["timesteps"])
    opt = torch.optim.Adam(net.parameters(), **s["optim"])
    held_out = swirl(1000, g)
    run = 0.0
    for step in range(1, s["steps"] + 1):
        net.train()
        x0 = swirl(s["batch"], g)
        t = torch.randint(0, s["timesteps"], (s["batch"],), generator=g)
        eps = torch.randn(x0.shape, generator=g)
        a = abar[t][:, None]
        loss = (net(a.sqrt() * x0 + (1 - a).sqrt() * eps, t) - eps).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item()
        if step % s["log_every"] == 0:
            v = val_error(net, held_out, abar, torch.Generator().manual_seed(1))
            print(f"step {step:4d} | eps mse {run / s['log_every']:.4f} | held-out {v:.4f}")
            run = 0.0


fit(settings)
