"""Charbonnier, and a term that looks at structure: edges in several directions, divided by the contrast around them."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class CharbonnierLoss(nn.Module):
    def __init__(self, delta):
        super().__init__()
        self.delta = delta

    def forward(self, prediction, target):
        return torch.sqrt((prediction - target) ** 2 + self.delta**2).mean()


def edge_filters(directions, size=5):
    """Derivatives of a Gaussian; what the first layer of a network for images learns as well."""
    axis = torch.arange(size, dtype=torch.float32) - size // 2
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    bell = torch.exp(-(x**2 + y**2) / 2)
    turns = [math.pi * index / directions for index in range(directions)]
    filters = torch.stack([(x * math.cos(turn) + y * math.sin(turn)) * bell for turn in turns])
    return (filters / filters.abs().sum(dim=(1, 2), keepdim=True))[:, None]


class PerceptualLoss(nn.Module):
    def __init__(self, directions, window):
        super().__init__()
        self.window = window
        self.register_buffer("filters", edge_filters(directions))

    def features(self, images):
        """Edges relative to the contrast of their surroundings, so that dim ones count as well."""
        mean = F.avg_pool2d(images, self.window, 1, self.window // 2, count_include_pad=False)
        square = F.avg_pool2d(images**2, self.window, 1, self.window // 2, count_include_pad=False)
        # A variance is not negative, but this difference can be, by rounding, where an image is flat.
        contrast = torch.sqrt((square - mean**2).clamp(min=0) + 1e-3)
        return F.conv2d(images, self.filters, padding="same") / contrast

    def forward(self, prediction, target):
        prediction, target = prediction.flatten(0, 1), target.flatten(0, 1)
        return F.mse_loss(self.features(prediction), self.features(target))


class DeblurLoss(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.charbonnier = CharbonnierLoss(cfg["CHARBONNIER"]["DELTA"])
        self.perceptual = PerceptualLoss(cfg["PERCEPTUAL"]["DIRECTIONS"], cfg["PERCEPTUAL"]["WINDOW"])
        self.weight, self.start = cfg["PERCEPTUAL"]["WEIGHT"], cfg["PERCEPTUAL"]["START_EPOCH"]

    def forward(self, prediction, target, epoch):
        loss = self.charbonnier(prediction, target)
        if epoch >= self.start:
            loss = loss + self.weight * self.perceptual(prediction, target)
        return loss
