"""GAN over (height, slope) pairs of dune profiles."""
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

LATENT = 6


def dunes(n, gen):
    a = torch.randn(n, generator=gen)
    b = 0.5 * torch.randn(n, generator=gen)
    return torch.stack([1.0 + 0.6 * a + 0.2 * b, -0.8 + 0.5 * b - 0.25 * a], 1)


def generator():
    return nn.Sequential(nn.Linear(LATENT, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))


def critic():
    return nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))


def adversarial_step(G, D, opt_g, opt_d, real):
    n = len(real)
    ones, zeros = torch.ones(n, 1), torch.zeros(n, 1)
    fake = G(torch.randn(n, LATENT))

    d_loss = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = bce(D(fake), ones)
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    return d_loss.item(), g_loss.item()


def gap(G, real, n=1000):
    G.eval()
    with torch.no_grad():
        fake = G(torch.randn(n, LATENT))
    G.train()
    mean_gap = (fake.mean(0) - real.mean(0)).norm().item()
    cov_gap = (torch.cov(fake.T) - torch.cov(real.T)).norm().item()
    return mean_gap, cov_gap


def main(epochs=15, bs=64):
    torch.set_num_threads(1)
    torch.manual_seed(4)
    gen = torch.Generator().manual_seed(4)
    real = dunes(3200, gen)
    G, D = generator(), critic()
    opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.0, 0.9))
    for epoch in range(epochs):
        logs = [adversarial_step(G, D, opt_g, opt_d, real[r]) for r in torch.randperm(len(real), generator=gen).split(bs)]
        d, g = (sum(v) / len(logs) for v in zip(*logs))
        m, c = gap(G, real)
        print(f"epoch {epoch:2d} D {d:.3f} G {g:.3f} mean gap {m:.3f} cov gap {c:.3f}")


if __name__ == "__main__":
    main()
