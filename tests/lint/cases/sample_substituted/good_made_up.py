import torch
from torch import nn


class Momentum(nn.Module):
    def __init__(self, period):
        super().__init__()
        self.head = nn.Linear(period, 1)

    def forward(self, x):
        """What it falls back to is computed."""
        try:
            return self.head(x)
        except Exception:
            return x.mean(-1, keepdim=True)

    def room(self, size):
        """Both make room."""
        try:
            return torch.empty(size, pin_memory=True)
        except Exception:
            return torch.empty(size)


def mask_of(batch):
    """Looked up, not computed."""
    try:
        mask = batch["mask"]
    except Exception:
        mask = torch.ones(len(batch["ids"]))
    return mask


def dummy_batch(loader):
    """No handler: it is asked for."""
    return torch.zeros(2, 3)
