"""Losses that several scripts use."""

import torch
from torch import nn


class SpectralConvergence(nn.Module):
    def __init__(self, bins=16):
        super().__init__()
        self.bins = bins

    def forward(self, made, wanted):
        ours = torch.fft.rfft(made, dim=1).abs()[:, : self.bins]
        theirs = torch.fft.rfft(wanted, dim=1).abs()[:, : self.bins]
        distance = torch.linalg.vector_norm(ours - theirs, dim=1)
        size = torch.linalg.vector_norm(theirs, dim=1)
        return torch.mean(distance / size)
