"""What the page about `premortem fit` is tested with: eight blocks of a transformer's kind, on random text."""

import argparse

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width=1024):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.net = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.net(self.norm(x))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--device", default="cpu")
    options.add_argument("--batch-size", type=int, default=8)
    args = options.parse_args()
    model = nn.Sequential(*(Block() for _ in range(8))).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(100):
        x = torch.randn(args.batch_size, 256, 1024, device=args.device)
        loss = (model(x) - x.roll(1, 1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
