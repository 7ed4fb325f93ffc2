import math

import torch
import torch.nn as nn
import torch.nn.functional as F

Z = 8


def crescent(n, g):
    t = math.pi * torch.rand(n, generator=g)
    r = 1.0 + 0.08 * torch.randn(n, generator=g)
    return torch.stack([r * t.cos(), r * t.sin() - 0.6], 1) * 1.3


def mlp(i, o, h=64):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


class AdversarialTrainer:
    def __init__(self, g):
        self.g = g
        self.gen, self.disc = mlp(Z, 2), mlp(2, 1)
        self.opt_g = torch.optim.Adam(self.gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
        self.opt_d = torch.optim.Adam(self.disc.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def noise(self, n):
        return torch.randn(n, Z, generator=self.g)

    def disc_step(self, real):
        fake = self.gen(self.noise(len(real))).detach()
        loss = F.softplus(-self.disc(real)).mean() + F.softplus(self.disc(fake)).mean()
        self.opt_d.zero_grad()
        loss.backward()
        if loss.item() > 0.3:
            self.opt_d.step()
        return loss.item()

    def gen_step(self, n):
        loss = F.softplus(-self.disc(self.gen(self.noise(n)))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss.item()

    @torch.no_grad()
    def quality(self, reference):
        fake = self.gen(torch.randn(len(reference), Z, generator=torch.Generator().manual_seed(0)))
        d = torch.cdist(fake, reference)
        return d.min(1).values.mean().item(), d.min(0).values.mean().item()


def main(epochs=12, steps=60, batch=96):
    torch.set_num_threads(1)
    torch.manual_seed(40)
    g = torch.Generator().manual_seed(40)
    trainer = AdversarialTrainer(g)
    reference = crescent(400, g)
    for epoch in range(epochs):
        ld = lg = 0.0
        for _ in range(steps):
            ld += trainer.disc_step(crescent(batch, g)) / steps
            lg += trainer.gen_step(batch) / steps
        precision, coverage = trainer.quality(reference)
        print(f"epoch {epoch:2d} D {ld:.3f} G {lg:.3f} | distance to data {precision:.3f} data to samples {coverage:.3f}")


if __name__ == "__main__":
    main()
