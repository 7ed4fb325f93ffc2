import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class WaveVAE(nn.Module):
    def __init__(self, n=48, latent=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n, 64), nn.ELU())
        self.mu, self.logvar = nn.Linear(64, latent), nn.Linear(64, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 64), nn.ELU(), nn.Linear(64, n))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h).clamp(-8, 4)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        return self.dec(z), mu, logvar


def elbo_terms(x, recon, mu, logvar, sigma=0.3):
    nll = 0.5 * ((x - recon) / sigma).pow(2).sum(1) + x.shape[1] * math.log(sigma)
    kl = 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(1)
    return nll.mean(), kl.mean()


def pulses(n):
    t = torch.linspace(0, 1, 48)
    f, ph, a = 1 + 2 * torch.rand(n, 1), 2 * math.pi * torch.rand(n, 1), 0.6 + torch.rand(n, 1)
    return a * torch.sin(2 * math.pi * f * t + ph) + 0.2 * torch.randn(n, 48)


torch.set_num_threads(1)
torch.manual_seed(404)
train = DataLoader(TensorDataset(pulses(2000)), batch_size=64, shuffle=True, drop_last=True)
held_out = pulses(400)
vae = WaveVAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
EPOCHS, WARM = 14, 6
for epoch in range(EPOCHS):
    beta = min(1.0, epoch / WARM)
    vae.train()
    for (x,) in train:
        nll, kl = elbo_terms(x, *vae(x))
        loss = nll + beta * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    vae.eval()
    with torch.no_grad():
        v_nll, v_kl = elbo_terms(held_out, *vae(held_out))
    print(f"epoch {epoch:2d} beta {beta:.2f} | batch nll {nll.item():8.3f} kl {kl.item():7.3f} "
          f"| held-out nll {v_nll.item():8.3f} kl {v_kl.item():7.3f}")
