"""The autoencoder whose latents the diffusion works on."""

import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self, width, latent):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.SiLU(),
            nn.Conv2d(width, 2 * width, 4, stride=2, padding=1),
            nn.SiLU(),
            nn.Conv2d(2 * width, 2 * latent, 3, padding=1),
        )
        self.decoder = nn.Sequential(
            nn.Conv2d(latent, 2 * width, 3, padding=1),
            nn.SiLU(),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(2 * width, width, 3, padding=1),
            nn.SiLU(),
            nn.Conv2d(width, 1, 3, padding=1),
        )

    def encode(self, image):
        mean, logvar = self.encoder(image).chunk(2, dim=1)
        return mean, logvar.clamp(-20, 10)

    def decode(self, latent):
        return self.decoder(latent)

    def forward(self, image):
        mean, logvar = self.encode(image)
        latent = mean + (0.5 * logvar).exp() * torch.randn_like(mean)
        return self.decode(latent), mean, logvar


def vae_loss(image, output, mean, logvar, kl):
    divergence = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).mean()
    return F.mse_loss(output, image) + kl * divergence
