"""Multiple-instance screening: a slide is positive when any of its tiles is."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class TileScorer(nn.Module):
    def __init__(self, d_tile, sharpness=10.0):
        super().__init__()
        self.sharpness = sharpness
        self.score = nn.Sequential(nn.Linear(d_tile, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, bag):
        z = self.sharpness * self.score(bag).squeeze(-1)
        return (torch.logsumexp(z, 1) - math.log(z.size(1))) / self.sharpness


def slides(n, tiles, d, signature, gen):
    label = (torch.rand(n, generator=gen) < 0.5).float()
    bags = torch.randn(n, tiles, d, generator=gen)
    spot = torch.randint(0, tiles, (n,), generator=gen)
    bags[torch.arange(n), spot] += label[:, None] * signature
    return bags, label


def iterate(bags, label, size, gen):
    for rows in torch.randperm(len(bags), generator=gen).split(size):
        yield bags[rows], label[rows]


def screen(model, bags, label):
    model.eval()
    with torch.no_grad():
        out = model(bags)
    hit = ((out > 0) == label.bool()).float().mean().item()
    return F.binary_cross_entropy_with_logits(out, label).item(), hit


def main(epochs=8, batch=40):
    torch.set_num_threads(1)
    torch.manual_seed(71)
    gen = torch.Generator().manual_seed(71)
    signature = 1.6 * torch.randn(10, generator=gen)
    bags, label = slides(1600, 8, 10, signature, gen)
    held_bags, held_label = slides(400, 8, 10, signature, gen)
    model = TileScorer(10)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in iterate(bags, label, batch, gen):
            loss = F.binary_cross_entropy_with_logits(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        vl, va = screen(model, held_bags, held_label)
        print(f"epoch {epoch:2d}  loss {total / len(bags):.4f}  held-out {vl:.4f}  acc {va:.3f}")


if __name__ == "__main__":
    main()
