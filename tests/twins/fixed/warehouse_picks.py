"""Estimate picking time of a warehouse order; trained by steps, not epochs."""
import argparse

import torch
import torch.nn as nn


def make_orders(n, gen):
    zones = torch.rand(n, 5, generator=gen)
    lines = torch.poisson(torch.full((n, 1), 6.0), generator=gen)
    weight = torch.rand(n, 1, generator=gen)
    x = torch.cat([zones * 2 - 1, (lines - 6) / 2.45, weight * 2 - 1], 1)
    t = x[:, 0] * x[:, 1] + 0.8 * x[:, 5] + 0.5 * torch.relu(x[:, 6]) + 0.4 * torch.sin(3 * x[:, 2])
    return x, (t + 0.05 * torch.randn(n, generator=gen)).unsqueeze(1)


def draw(x, y, size, gen):
    rows = torch.randint(0, len(x), (size,), generator=gen)
    return x[rows], y[rows]


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1000)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--report", type=int, default=100)
    ap.add_argument("--seed", type=int, default=17)
    return ap.parse_args()


def main(args):
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    x, y = make_orders(4000, gen)
    xv, yv = make_orders(600, gen)
    model = nn.Sequential(nn.Linear(7, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    mse = nn.MSELoss()
    window = []
    for step in range(1, args.steps + 1):
        model.train()
        bx, by = draw(x, y, args.batch, gen)
        opt.zero_grad()
        loss = mse(model(bx), by)
        loss.backward()
        opt.step()
        window.append(loss.item())
        if step % args.report == 0:
            model.eval()
            with torch.no_grad():
                val = mse(model(xv), yv).item()
            print(f"step {step:5d}  train {sum(window) / len(window):.4f}  val {val:.4f}")
            window.clear()


if __name__ == "__main__":
    main(get_args())
