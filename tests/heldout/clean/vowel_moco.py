"""Momentum-contrast pre-training of vowel frames with a key queue, checked by a nearest-centroid probe."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Vowels:
    def __init__(self, g, classes=24, d=32):
        self.g, self.proto = g, torch.randn(classes, d, generator=g)
        self.speaker = torch.randn(4, d, generator=g) / 2

    def draw(self, n):
        y = torch.randint(0, len(self.proto), (n,), generator=self.g)
        return self.proto[y], y

    def view(self, base):
        spk = 2.5 * torch.randn(len(base), 4, generator=self.g) @ self.speaker
        return base + spk + 1.0 * torch.randn(base.shape, generator=self.g)


def encoder():
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))


class MoCo(nn.Module):
    def __init__(self, size=256, momentum=0.98, tau=0.2):
        super().__init__()
        self.q = encoder()
        self.k = copy.deepcopy(self.q).requires_grad_(False)
        self.m, self.tau, self.ptr = momentum, tau, 0
        self.register_buffer("queue", F.normalize(torch.randn(size, 16), dim=1))

    @torch.no_grad()
    def keys(self, x):
        for pk, pq in zip(self.k.parameters(), self.q.parameters()):
            pk.mul_(self.m).add_(pq, alpha=1 - self.m)
        return F.normalize(self.k(x), dim=1)

    def loss(self, a, b):
        q, k = F.normalize(self.q(a), dim=1), self.keys(b)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.t().clone()], 1) / self.tau
        self.queue[self.ptr:self.ptr + len(k)] = k
        self.ptr = (self.ptr + len(k)) % len(self.queue)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


@torch.no_grad()
def probe(net, x, y, xv, yv):
    net.eval()
    z, zv = F.normalize(net(x), dim=1), F.normalize(net(xv), dim=1)
    net.train()
    centre = torch.stack([z[y == c].mean(0) for c in range(24)])
    return (torch.cdist(zv, centre).argmin(1) == yv).float().mean().item(), z.std(0).mean().item()


def main(epochs=12, steps=50, bs=64):
    torch.set_num_threads(1)
    torch.manual_seed(211)
    data = Vowels(torch.Generator().manual_seed(211))
    base, y = data.draw(600)
    basev, yv = data.draw(600)
    x, xv = data.view(base), data.view(basev)
    moco = MoCo()
    opt = torch.optim.SGD(moco.q.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(epochs):
        tot = 0.0
        for _ in range(steps):
            b, _ = data.draw(bs)
            loss = moco.loss(data.view(b), data.view(b))
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        sched.step()
        acc, spread = probe(moco.q, x, y, xv, yv)
        print(f"epoch {epoch:2d} info-nce {tot / steps:.4f} probe acc {acc:.3f} embedding std {spread:.3f}")


if __name__ == "__main__":
    main()
