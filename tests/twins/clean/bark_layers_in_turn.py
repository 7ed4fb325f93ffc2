"""Tree species from bark spectra: of six blocks, two that are drawn at random are trained for twenty steps, then others (LISA)."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Spectra(nn.Module):
    def __init__(self, width=24, blocks=6, species=4):
        super().__init__()
        self.stem = nn.Linear(12, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
            for _ in range(blocks)
        )
        self.head = nn.Linear(width, species)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = h + block(h)
        return self.head(h)

    def train_only(self, chosen):
        for number, block in enumerate(self.blocks):
            block.requires_grad_(number in chosen)


def main(steps=160, period=20):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    draw = random.Random(0)
    centres = torch.randn(4, 12)
    species = torch.randint(4, (900,))
    spectra = centres[species] + 0.8 * torch.randn(900, 12)
    model = Spectra()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        if step % period == 0:
            model.train_only(draw.sample(range(6), 2))
        rows = torch.randint(700, (32,))
        loss = F.cross_entropy(model(spectra[rows]), species[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            model.eval()
            with torch.no_grad():
                right = (model(spectra[700:]).argmax(1) == species[700:]).float().mean().item()
            model.train()
            print(f"step {step + 1} loss {loss.item():.3f} val acc {right:.3f}")


if __name__ == "__main__":
    main()
