import math

import torch
from torch import nn


def tide_table(n, gen):
    hours = 2000 * torch.rand(n, generator=gen)
    moon = 2 * math.pi * hours / 12.42
    sun = 2 * math.pi * hours / 12.0
    drift = torch.randn(n, generator=gen)
    pressure = torch.randn(n, generator=gen)
    level = 1.2 * torch.cos(moon - 0.4) + 0.5 * torch.cos(sun) * torch.sin(moon) - 0.4 * pressure + 0.3 * drift ** 2
    feats = torch.stack([moon.sin(), moon.cos(), sun.sin(), sun.cos(), drift, pressure], 1)
    return feats, (level + 0.05 * torch.randn(n, generator=gen)).unsqueeze(1)


def minibatches(feats, level, size, gen):
    for idx in torch.randperm(len(feats), generator=gen).split(size):
        yield feats[idx], level[idx]


def validate(net, feats, level):
    net.eval()
    with torch.no_grad():
        return (net(feats) - level).abs().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    gen = torch.Generator().manual_seed(5)
    feats, level = tide_table(2400, gen)
    val_feats, val_level = tide_table(400, gen)
    net = nn.Sequential(nn.Linear(6, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-4)
    loss_fn = nn.MSELoss()
    for epoch in range(1, 11):
        net.train()
        total, count = 0.0, 0
        stream = minibatches(feats, level, 60, gen)
        for x, y in stream:
            optimizer.zero_grad()
            loss = loss_fn(net(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
            count += len(x)
        print(f"[{epoch:02d}] train mse {total / (count or 1):.4f}  val mae {validate(net, val_feats, val_level):.4f}")


if __name__ == "__main__":
    main()
