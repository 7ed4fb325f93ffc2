"""CMFDNet: DINOv2 features, their self-correlation, and a decoder that draws the mask."""

import torch
from backbone import DinoVisionTransformer, load_dinov2
from correlation import SelfCorrelation
from torch import nn
from torch.nn import functional as F


def conv(before, after, stride=1, kernel=3):
    groups = 4 if after % 4 == 0 else 1
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, stride=stride, padding=kernel // 2, bias=False),
        nn.GroupNorm(groups, after),
        nn.GELU(),
    )


class Decoder(nn.Module):
    """A UNet over the image, from stride 4 to 32 and back; what was matched comes in at stride 16 and 8."""

    def __init__(self, matched, widths):
        super().__init__()
        w4, w8, w16, w32 = widths
        self.down4 = conv(3, w4, stride=4, kernel=7)
        self.down8 = conv(w4, w8, stride=2)
        self.down16 = conv(w8, w16, stride=2)
        self.down32 = conv(w16 + matched, w32, stride=2)
        self.up16 = conv(w32 + w16 + matched, w16)
        self.up8 = conv(w16 + w8 + matched, w8)
        self.up4 = conv(w8 + w4, w4)
        self.head = nn.Conv2d(w4, 1, 1)

    def forward(self, image, matched):
        x4 = self.down4(image)
        x8 = self.down8(x4)
        x16 = self.down16(x8)
        m8 = F.interpolate(matched, size=x8.shape[-2:], mode="bilinear", align_corners=False)
        m16 = F.interpolate(matched, size=x16.shape[-2:], mode="bilinear", align_corners=False)
        x = self.down32(torch.cat([x16, m16], dim=1))
        x = self.up16(torch.cat([F.interpolate(x, scale_factor=2.0), x16, m16], dim=1))
        x = self.up8(torch.cat([F.interpolate(x, scale_factor=2.0), x8, m8], dim=1))
        x = self.up4(torch.cat([F.interpolate(x, scale_factor=2.0), x4], dim=1))
        return F.interpolate(self.head(x), scale_factor=4.0, mode="bilinear", align_corners=False)


class CMFDNet(nn.Module):
    def __init__(self, backbone, correlation, decoder):
        super().__init__()
        backbone = dict(backbone)
        weights = backbone.pop("weights")
        self.backbone = DinoVisionTransformer(**backbone)
        if weights:
            load_dinov2(self.backbone, weights)
        self.correlation = SelfCorrelation(backbone["width"], **correlation)
        self.reduce = nn.Conv2d(backbone["width"], decoder["features"], 1)
        self.decoder = Decoder(self.correlation.channels + decoder["features"], decoder["widths"])

    def forward(self, image):
        feats = self.backbone.get_intermediate_layers(image, n=1, reshape=True)[0]
        matched = torch.cat([self.correlation(feats), self.reduce(feats)], dim=1)
        return self.decoder(image, matched)
