"""A UNet that predicts what to add to the blurred image."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, padding=1)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1)
        self.skip = nn.Conv2d(channels, out, 1)

    def forward(self, x):
        return self.skip(x) + self.conv2(F.gelu(self.conv1(x)))


class UNet(nn.Module):
    def __init__(self, width, reach):
        super().__init__()
        # As wide as the motion is long, so that undoing it is within reach of the first layer.
        self.stem = nn.Conv2d(1, width, (3, reach), padding=(1, reach // 2))
        self.down = Block(width, 2 * width)
        self.middle = Block(2 * width, 2 * width)
        self.up = Block(3 * width, width)
        self.out = nn.Conv2d(width, 1, 3, padding=1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, blurred):
        fine = self.stem(2 * blurred - 1)
        coarse = self.middle(self.down(F.avg_pool2d(fine, 2)))
        coarse = F.interpolate(coarse, scale_factor=2.0, mode="bilinear")
        return blurred + self.out(self.up(torch.cat([coarse, fine], dim=1)))
