"""Convolutional networks: residual, depthwise, grouped, three-dimensional, one-dimensional, super-resolution."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from fit_models import config
from fit_models.steps import images, labels, train


class Basic(nn.Module):
    def __init__(self, cin, cout, stride=1, groups=1):
        super().__init__()
        self.a = nn.Sequential(
            nn.Conv2d(cin, cout, 3, stride, 1, groups=groups, bias=False), nn.BatchNorm2d(cout)
        )
        self.b = nn.Sequential(
            nn.Conv2d(cout, cout, 3, 1, 1, groups=groups, bias=False), nn.BatchNorm2d(cout)
        )
        change = stride != 1 or cin != cout
        self.skip = (
            nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))
            if change
            else nn.Identity()
        )

    def forward(self, x):
        return F.relu(self.b(F.relu(self.a(x), inplace=True)) + self.skip(x), inplace=True)


class Bottleneck(nn.Module):
    def __init__(self, cin, mid, stride=1):
        super().__init__()
        out = mid * 4
        self.body = nn.Sequential(
            nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid), nn.ReLU(inplace=True),
            nn.Conv2d(mid, mid, 3, stride, 1, bias=False), nn.BatchNorm2d(mid), nn.ReLU(inplace=True),
            nn.Conv2d(mid, out, 1, bias=False), nn.BatchNorm2d(out),
        )  # fmt: skip
        self.skip = (
            nn.Sequential(nn.Conv2d(cin, out, 1, stride, bias=False), nn.BatchNorm2d(out))
            if stride != 1 or cin != out
            else nn.Identity()
        )

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


def resnet(widths, depth=2, classes=1000, groups=1):
    parts = [
        nn.Conv2d(3, widths[0], 7, 2, 3, bias=False),
        nn.BatchNorm2d(widths[0]),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    last = widths[0]
    for n, width in enumerate(widths):
        for k in range(depth):
            parts.append(Basic(last, width, 2 if k == 0 and n else 1, groups))
            last = width
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, classes))


class ConvNeXt(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 1e-6))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


@config(64, limit=4)
def resnet18_sgd(batch):
    model = resnet((64, 128, 256, 512)).cuda()
    x, y = images(batch, 224), labels(batch, 1000)
    return train(
        model, lambda: F.cross_entropy(model(x), y), torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    )


@config(48, held_out=True, limit=5)
def resnet50_channels_last_fp16(batch):
    stages, last = [], 64
    for n, (mid, depth) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for k in range(depth):
            stages.append(Bottleneck(last, mid, 2 if k == 0 and n else 1))
            last = mid * 4
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    model = nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 1000))
    model = model.cuda().to(memory_format=torch.channels_last)
    x, y = images(batch, 224).to(memory_format=torch.channels_last), labels(batch, 1000)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return train(
        model,
        lambda: F.cross_entropy(model(x), y, label_smoothing=0.1),
        optimizer,
        amp=torch.float16,
        scaler=True,
    )


@config(32)
def convnext_bf16_fused(batch):
    parts, last = [nn.Conv2d(3, 96, 4, 4)], 96
    for width, depth in ((96, 3), (192, 3), (384, 9), (768, 3)):
        if width != last:
            parts.append(nn.Conv2d(last, width, 2, 2))
        parts += [ConvNeXt(width) for _ in range(depth)]
        last = width
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 1000)).cuda()
    x, y = images(batch, 224), labels(batch, 1000)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    return train(model, lambda: F.cross_entropy(model(x), y), optimizer, amp=torch.bfloat16)


@config(32, held_out=True)
def grouped_convolutions_accumulated(batch):
    model = resnet((64, 128, 256), depth=3, groups=8).cuda()
    x, y = images(batch, 160), labels(batch, 1000)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    return train(model, lambda: F.cross_entropy(model(x), y), optimizer, clip=1.0, accumulate=4)


def _volume(cin, cout):
    return nn.Sequential(
        nn.Conv3d(cin, cout, 3, padding=1), nn.InstanceNorm3d(cout, affine=True), nn.LeakyReLU(inplace=True)
    )


class UNet3d(nn.Module):
    def __init__(self, widths=(32, 64, 128)):
        super().__init__()
        self.down, self.up, self.join = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        last = 1
        for width in widths:
            self.down.append(nn.Sequential(_volume(last, width), _volume(width, width)))
            last = width
        for width in reversed(widths[:-1]):
            self.up.append(nn.ConvTranspose3d(last, width, 2, 2))
            self.join.append(nn.Sequential(_volume(2 * width, width), _volume(width, width)))
            last = width
        self.head = nn.Conv3d(last, 4, 1)

    def forward(self, x):
        skips = []
        for part in self.down:
            x = part(F.max_pool3d(x, 2) if skips else x)
            skips.append(x)
        skips.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([up(x), skips.pop()], 1))
        return self.head(x)


@config(2, limit=6)
def unet3d_fp32(batch):
    model = UNet3d().cuda()
    x = torch.randn(batch, 1, 64, 64, 64, device="cuda")
    y = torch.randint(0, 4, (batch, 64, 64, 64), device="cuda")
    return train(model, lambda: F.cross_entropy(model(x), y), torch.optim.AdamW(model.parameters()))


@config(4, held_out=True)
def video_conv3d_bf16(batch):
    parts, last = [], 3
    for width in (64, 128, 256):
        parts += [
            nn.Conv3d(last, width, 3, padding=1, bias=False),
            nn.BatchNorm3d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool3d(2),
        ]
        last = width
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(last, 400)).cuda()
    x, y = torch.randn(batch, 3, 16, 112, 112, device="cuda"), labels(batch, 400)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return train(model, lambda: F.cross_entropy(model(x), y), optimizer, amp=torch.bfloat16)


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1)
        )

    def forward(self, x):
        return x + 0.1 * self.body(x)


@config(8)
def super_resolution_fp32(batch):
    body = [nn.Conv2d(3, 64, 3, padding=1), *[Residual(64) for _ in range(12)]]
    tail = [nn.Conv2d(64, 256, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(64, 3, 3, padding=1)]
    model = nn.Sequential(*body, *tail).cuda()
    x, y = images(batch, 96), images(batch, 192)
    return train(model, lambda: F.l1_loss(model(x), y), torch.optim.Adam(model.parameters(), lr=1e-4))


class Gated(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.conv = nn.Conv1d(width, 2 * width, 3, padding=dilation, dilation=dilation)
        self.out = nn.Conv1d(width, width, 1)

    def forward(self, x):
        a, b = self.conv(x).chunk(2, 1)
        return x + self.out(torch.tanh(a) * torch.sigmoid(b))


@config(8)
def wavenet_conv1d(batch):
    model = nn.Sequential(
        nn.Conv1d(1, 128, 1), *[Gated(128, 2**k) for k in range(10)], nn.Conv1d(128, 256, 1)
    ).cuda()
    x = torch.randn(batch, 1, 16000, device="cuda")
    y = torch.randint(0, 256, (batch, 16000), device="cuda")
    return train(
        model, lambda: F.cross_entropy(model(x), y), torch.optim.AdamW(model.parameters(), foreach=False)
    )


@config(8, held_out=True)
def detector_with_pyramid(batch):
    stages = nn.ModuleList(
        [resnet((64,), 2)[:5], Basic(64, 128, 2), Basic(128, 256, 2), Basic(256, 512, 2)]
    ).cuda()
    sides = nn.ModuleList([nn.Conv2d(width, 128, 1) for width in (64, 128, 256, 512)]).cuda()
    head = nn.Sequential(
        nn.Conv2d(128, 128, 3, padding=1), nn.ReLU(), nn.Conv2d(128, 84, 3, padding=1)
    ).cuda()
    whole = nn.ModuleList([stages, sides, head])
    x = images(batch, 384)

    def loss():
        levels, y = [], x
        for stage in stages:
            y = stage(y)
            levels.append(y)
        found, above = 0.0, None
        for level, side in reversed(list(zip(levels, sides))):
            now = side(level)
            above = now if above is None else now + F.interpolate(above, size=now.shape[-2:], mode="nearest")
            logits = head(above)
            target = torch.zeros_like(logits)
            p = torch.sigmoid(logits)
            found = (
                found + (F.binary_cross_entropy_with_logits(logits, target, reduction="none") * p**2).mean()
            )
        return found

    return train(whole, loss, torch.optim.AdamW(whole.parameters()), amp=torch.bfloat16)
