"""Shopper segment from item counts per department."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

DEPARTMENTS, SEGMENTS = 10, 6


def baskets(rng, n, profile):
    seg = rng.integers(0, SEGMENTS, n)
    size = rng.gamma(6.0, 12.0, (n, 1))
    return rng.poisson(size * profile[seg] + 1.5), seg


def features(counts):
    return torch.log(torch.from_numpy(counts).float()) - 2.2


class SegmentNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(DEPARTMENTS, 48), nn.Linear(48, SEGMENTS)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class BadBatch(Exception):
    pass


class Trainer:
    def __init__(self, net, lr=1e-3):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=lr)

    def step(self, x, y):
        loss = F.cross_entropy(self.net(x), y)
        if not torch.isfinite(loss):
            raise BadBatch
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def epoch(self, x, y, bs=32):
        self.net.train()
        losses = []
        for idx in torch.randperm(len(x)).split(bs):
            try:
                losses.append(self.step(x[idx], y[idx]))
            except BadBatch:
                continue
        return float(np.mean(losses))

    @torch.no_grad()
    def accuracy(self, x, y):
        self.net.eval()
        return (self.net(x).argmax(1) == y).float().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(38)
    rng = np.random.default_rng(38)
    profile = rng.dirichlet(np.full(DEPARTMENTS, 4.0), SEGMENTS)
    ct, yt = baskets(rng, 1600, profile)
    cv, yv = baskets(rng, 400, profile)
    xt, xv = features(ct), features(cv)
    yt, yv = torch.from_numpy(yt), torch.from_numpy(yv)
    trainer = Trainer(SegmentNet())
    for epoch in range(12):
        loss = trainer.epoch(xt, yt)
        print(f"epoch {epoch:2d} loss {loss:.4f} val acc {trainer.accuracy(xv, yv):.3f}")


if __name__ == "__main__":
    main()
