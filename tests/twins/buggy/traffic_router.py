"""Travel-speed regression with a small mixture of experts (one expert per traffic regime)."""
import argparse
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F


class Router(nn.Module):
    def __init__(self, d, n_experts):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(d, 32), nn.Tanh(), nn.Linear(32, n_experts))

    def forward(self, x):
        scores = self.score(x)
        return F.one_hot(scores.argmax(-1), scores.shape[-1]).float()


class Mixture(nn.Module):
    def __init__(self, d, n_experts=4):
        super().__init__()
        self.router = Router(d, n_experts)
        self.experts = nn.ModuleList(nn.Linear(d, 1) for _ in range(n_experts))

    def forward(self, x):
        w = self.router(x)
        y = torch.cat([e(x) for e in self.experts], dim=1)
        return (w * y).sum(1)


def world(n, gen):
    x = torch.randn(n, 6, generator=gen)
    quadrant = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
    slopes = torch.tensor([[1.0, -1.0, 0.5], [-1.5, 0.5, 1.0], [0.5, 1.5, -1.0], [-1.0, -0.5, -1.5]])
    y = (slopes[quadrant] * x[:, 2:5]).sum(1) + 0.5 * quadrant.float() - 0.75
    return x, y + 0.1 * torch.randn(n, generator=gen)


def stream(x, y, bs, gen):
    while True:
        for idx in torch.randperm(len(x), generator=gen).split(bs):
            yield x[idx], y[idx]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--lr", type=float, default=8e-3)
    ap.add_argument("--batch-size", type=int, default=50)
    ap.add_argument("--seed", type=int, default=86)
    args = ap.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    x, y = world(2500, gen)
    xv, yv = world(500, gen)
    model = Mixture(6)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    batches = stream(x, y, args.batch_size, gen)
    per_epoch = len(x) // args.batch_size

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for xb, yb in itertools.islice(batches, per_epoch):
            opt.zero_grad()
            loss = F.mse_loss(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            v = F.mse_loss(model(xv), yv).item()
            load = model.router(xv).mean(0).tolist()
        print(f"epoch {epoch + 1:2d} mse {total / per_epoch:.4f} val {v:.4f} load " + " ".join(f"{l:.2f}" for l in load))


if __name__ == "__main__":
    main()
