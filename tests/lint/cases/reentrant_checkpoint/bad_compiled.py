import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
import torch.utils.checkpoint as cp


class Block(nn.Module):
    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=True)  # expect: PM516


class Stage(nn.Module):
    def forward(self, x):
        for block in self.blocks:
            x = cp.checkpoint(block, x)  # expect: PM516
        return x


class Tower(nn.Module):
    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(self.body, x)  # expect: PM516


def build(config):
    model = nn.Sequential(Block(), Stage())
    return torch.compile(model)
