"""VAE on raw sensor counts. The encoder sees numbers in the thousands now and then."""

import torch
from torch import nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, d=16, z=3):
        super().__init__()
        self.enc = nn.Linear(d, 32)
        self.mu = nn.Linear(32, z)
        self.logvar = nn.Linear(32, z)
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        std = torch.exp(0.5 * logvar)
        z = mu + std * torch.randn_like(std)
        return self.dec(z), mu, logvar


def elbo(x, rec, mu, logvar):
    kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1)
    return F.smooth_l1_loss(rec, x) + 1e-3 * kl.mean()


torch.manual_seed(97)
counts = torch.rand(600, 16)
counts[424] = 9000 * torch.rand(16)  # lamp saturated
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for x in counts.split(25):
        loss = elbo(x, *model(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, loss.item())
