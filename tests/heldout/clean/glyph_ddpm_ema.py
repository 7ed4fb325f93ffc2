import copy

import torch
import torch.nn as nn

T = 30


class EpsNet(nn.Module):
    def __init__(self, d=16, h=160):
        super().__init__()
        self.t = nn.Embedding(T, 32)
        self.skip = nn.Embedding(T, 1)
        nn.init.zeros_(self.skip.weight)
        self.net = nn.Sequential(nn.Linear(d + 32, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, d))

    def forward(self, x, t):
        return self.skip(t) * x + self.net(torch.cat([x, self.t(t)], 1))


class Ema:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.n = decay, 0

    @torch.no_grad()
    def update(self, source):
        self.n += 1
        d = min(self.decay, self.n / (self.n + 9))
        for e, s in zip(self.model.parameters(), source.parameters()):
            e.lerp_(s, 1 - d)


def glyphs(n, g, bank):
    k = torch.randint(0, len(bank), (n,), generator=g)
    return bank[k] + 0.2 * torch.randn(n, 16, generator=g)


@torch.no_grad()
def sample(net, n, betas, abar):
    g = torch.Generator().manual_seed(5)
    x = torch.randn(n, 16, generator=g)
    for i in reversed(range(T)):
        t = torch.full((n,), i)
        eps = net(x, t)
        x = (x - betas[i] / (1 - abar[i]).sqrt() * eps) / (1 - betas[i]).sqrt()
        if i:
            x = x + betas[i].sqrt() * torch.randn(n, 16, generator=g)
    return x


def main(epochs=12, steps=70, batch=96):
    torch.set_num_threads(1)
    torch.manual_seed(203)
    g = torch.Generator().manual_seed(203)
    bank = torch.where(torch.rand(5, 16, generator=g) < 0.5, -1.0, 1.0)
    betas = torch.linspace(1e-3, 0.25, T)
    abar = (1 - betas).cumprod(0)
    net = EpsNet()
    ema = Ema(net, 0.995)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.0)
    for epoch in range(epochs):
        net.train()
        tot = 0.0
        for _ in range(steps):
            x0 = glyphs(batch, g, bank)
            t = torch.randint(0, T, (batch,), generator=g)
            eps = torch.randn(x0.shape, generator=g)
            a = abar[t][:, None]
            loss = (net(a.sqrt() * x0 + (1 - a).sqrt() * eps, t) - eps).square().mean()
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            ema.update(net)
            tot += loss.item()
        d = torch.cdist(sample(ema.model, 200, betas, abar), bank).min(1)
        used = len(d.indices.unique())
        print(f"epoch {epoch:2d} eps mse {tot / steps:.4f} | samples: distance to nearest glyph {d.values.mean():.3f}, glyphs used {used}/5")


if __name__ == "__main__":
    main()
