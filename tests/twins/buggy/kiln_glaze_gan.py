"""Least-squares GAN over (gloss, hue) of glazed tiles; one player's loss is a score that is pushed up."""
import torch
from torch import nn

LATENT = 5


def tiles(n, gen):
    a, b = torch.randn(2, n, generator=gen)
    return torch.stack([0.7 + 0.4 * a, 0.2 * a - 0.5 + 0.3 * b], 1)


class Maker(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(LATENT, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, z):
        return self.body(z)


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.body(x).squeeze(1)


def main(steps=400, batch=64):
    torch.set_num_threads(1)
    torch.manual_seed(12)
    gen = torch.Generator().manual_seed(12)
    data = tiles(2048, gen)
    maker, judge = Maker(), Judge()
    of_maker = torch.optim.Adam(maker.parameters(), lr=1e-3, betas=(0.5, 0.9))
    of_judge = torch.optim.Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.9))
    for step in range(steps):
        real = data[torch.randint(len(data), (batch,))]
        made = maker(torch.randn(batch, LATENT))
        loss = (judge(real) - 1).pow(2).mean() + judge(made.detach()).pow(2).mean()
        of_judge.zero_grad()
        loss.backward()
        of_judge.step()

        verdict = judge(made).mean()
        of_maker.zero_grad()
        verdict.backward()
        of_maker.step()
        if step % 80 == 79:
            with torch.no_grad():
                gap = (maker(torch.randn(1024, LATENT)).mean(0) - data.mean(0)).norm()
            print(f"step {step + 1} judge {loss.item():.3f} verdict {verdict.item():.3f} gap {gap.item():.3f}")


if __name__ == "__main__":
    main()
