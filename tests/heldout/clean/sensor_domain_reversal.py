"""Fault classifier that transfers between two sensor generations (gradient reversal)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


class DomainNet(nn.Module):
    def __init__(self, d=16, h=48, faults=4):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.Tanh())
        self.fault = nn.Linear(h, faults)
        self.domain = nn.Sequential(nn.Linear(h, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x, strength=0.0):
        z = self.features(x)
        return self.fault(z), self.domain(Reverse.apply(z, strength)).squeeze(1)


def signals(n, g, proto, offset):
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.cat([proto[y], torch.zeros(n, 6)], 1) + 0.6 * torch.randn(n, 16, generator=g)
    x[:, 10:] += offset
    x[:, :2] += 0.4 * offset
    return x, y


def main(epochs=12, bs=40):
    torch.set_num_threads(1)
    torch.manual_seed(205)
    g = torch.Generator().manual_seed(205)
    proto = torch.randn(4, 10, generator=g)
    xs, ys = signals(1200, g, proto, -0.8)
    xt, _ = signals(1200, g, proto, 0.8)
    xv, yv = signals(500, g, proto, 0.8)
    net = DomainNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.5, 0.99))
    n_batches = len(xs) // bs
    for epoch in range(epochs):
        net.train()
        s_cls = s_dom = 0.0
        order_s, order_t = (torch.randperm(1200, generator=g).split(bs) for _ in range(2))
        for k, (i, j) in enumerate(zip(order_s, order_t)):
            progress = (epoch * n_batches + k) / (epochs * n_batches)
            strength = 0.1 * (2 / (1 + math.exp(-8 * progress)) - 1)
            logits, dom_s = net(xs[i], strength)
            _, dom_t = net(xt[j], strength)
            cls = F.cross_entropy(logits, ys[i])
            dom = F.binary_cross_entropy_with_logits(
                torch.cat([dom_s, dom_t]), torch.cat([torch.zeros(len(i)), torch.ones(len(j))]))
            opt.zero_grad()
            (cls + dom).backward()
            opt.step()
            s_cls, s_dom = s_cls + cls.item() / n_batches, s_dom + dom.item() / n_batches
        net.eval()
        with torch.no_grad():
            acc = (net(xv)[0].argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch:2d} fault loss {s_cls:.4f} domain loss {s_dom:.4f} target-sensor acc {acc:.3f}")


if __name__ == "__main__":
    main()
