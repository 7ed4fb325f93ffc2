"""Charbonnier + (1 - MS-SSIM)."""

import torch
from torch import nn
from torch.nn import functional as F
from torchmetrics.functional.image import structural_similarity_index_measure as ssim

BETAS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


class CharbonnierLoss(nn.Module):
    def __init__(self, eps=1e-3):
        super().__init__()
        self.eps = eps

    def forward(self, prediction, target):
        return torch.sqrt((prediction - target) ** 2 + self.eps**2).mean()


class MSSSIMLoss(nn.Module):
    """1 - MS-SSIM of images in [0, 1].

    A contrast term can be negative (motion turns fine stripes into their negative), and a negative number has no
    fractional power; what is negative counts as no similarity at all.
    """

    def __init__(self, scales):
        super().__init__()
        self.betas = [beta / sum(BETAS[:scales]) for beta in BETAS[:scales]]

    def forward(self, prediction, target):
        if min(target.shape[-2:]) <= 10 * 2 ** (len(self.betas) - 1):
            raise ValueError(f"{tuple(target.shape[-2:])} is too small for {len(self.betas)} scales")
        similarity = 1.0
        for scale, beta in enumerate(self.betas):
            whole, contrast = ssim(
                prediction, target, data_range=1.0, reduction="none", return_contrast_sensitivity=True
            )
            last = scale == len(self.betas) - 1
            term = whole if last else contrast
            similarity = similarity * term.clamp(min=1e-4) ** beta
            if not last:
                prediction, target = F.avg_pool2d(prediction, 2), F.avg_pool2d(target, 2)
        return (1 - similarity).mean()


class CombinedLoss(nn.Module):
    def __init__(self, alpha, beta, scales):
        super().__init__()
        self.alpha, self.beta = alpha, beta
        self.charbonnier = CharbonnierLoss()
        self.ms_ssim = MSSSIMLoss(scales)

    def forward(self, prediction, target):
        pixels = self.charbonnier(prediction, target)
        structure = self.ms_ssim(prediction, target)
        return self.alpha * pixels + self.beta * structure
