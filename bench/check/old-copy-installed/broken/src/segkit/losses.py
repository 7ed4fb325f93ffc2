"""Losses for segmentation."""

import torch


def dice_loss(logits, target, eps=1.0):
    """Soft dice over the batch."""
    probs = torch.sigmoid(logits)
    inter = (probs * target).sum()
    return 1 - (2 * inter + eps) / (probs.sum() + target.sum() + eps)
