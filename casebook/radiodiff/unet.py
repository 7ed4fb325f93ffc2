"""The network of the diffusion: from a noisy latent, the time and the condition to C and the noise."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def time_embedding(t, width):
    frequencies = torch.exp(-math.log(1000) * torch.arange(width // 2, device=t.device) / (width // 2))
    angles = 1000 * t[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class Block(nn.Module):
    def __init__(self, channels, out, width):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)
        self.conv1 = nn.Conv2d(channels, out, 3, padding=1)
        self.time = nn.Linear(width, out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1)
        self.skip = nn.Conv2d(channels, out, 1)

    def forward(self, x, time):
        hidden = self.conv1(F.silu(self.norm(x))) + self.time(time)[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(hidden))


class CondUNet(nn.Module):
    def __init__(self, latent, width):
        super().__init__()
        self.width = width
        self.condition = nn.Sequential(nn.Conv2d(2, width, 4, stride=2, padding=1), nn.SiLU())
        self.stem = nn.Conv2d(latent, width, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU())
        self.down = Block(2 * width, 2 * width, width)
        self.middle = Block(2 * width, 2 * width, width)
        self.up = Block(4 * width, width, width)
        self.c_head = nn.Conv2d(width, latent, 3, padding=1)
        self.noise_head = nn.Conv2d(width, latent, 3, padding=1)

    def forward(self, noisy, t, condition):
        time = self.time(time_embedding(t, self.width))
        fine = torch.cat([self.stem(noisy), self.condition(condition)], dim=1)
        coarse = self.middle(self.down(F.avg_pool2d(fine, 2), time), time)
        joined = torch.cat([fine, F.interpolate(coarse, scale_factor=2.0)], dim=1)
        hidden = F.silu(self.up(joined, time))
        return self.c_head(hidden), self.noise_head(hidden)
