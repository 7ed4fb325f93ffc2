# runs with: torch==2.1.2
import torch


def build():
    return torch.nn.RMSNorm(8)  # PM582 says this
