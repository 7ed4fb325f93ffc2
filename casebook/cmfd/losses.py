"""Binary cross-entropy and Dice over the pixels of the image, without its padding."""

import torch
from torch.nn import functional as F


class MaskLoss(torch.nn.Module):
    def __init__(self, bce, dice):
        super().__init__()
        self.bce, self.dice = bce, dice

    def forward(self, logits, mask, inside):
        bce = (
            F.binary_cross_entropy_with_logits(logits, mask, reduction="none") * inside
        ).sum() / inside.sum()
        found = logits.sigmoid() * inside
        overlap = 2 * (found * mask).sum() + 1.0
        dice = 1 - overlap / (found.sum() + mask.sum() + 1.0)
        return self.bce * bce + self.dice * dice
