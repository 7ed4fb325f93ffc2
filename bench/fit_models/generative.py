"""Adversarial networks with two optimizers, and diffusion with attention in the middle."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from fit_models import config
from fit_models.steps import images, train


def _generator():
    parts, last = [nn.ConvTranspose2d(128, 512, 4), nn.BatchNorm2d(512), nn.ReLU(inplace=True)], 512
    for width in (256, 128, 64):
        parts += [nn.ConvTranspose2d(last, width, 4, 2, 1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        last = width
    return nn.Sequential(*parts, nn.ConvTranspose2d(last, 3, 4, 2, 1), nn.Tanh()).cuda()


def _critic(norm):
    parts, last = [], 3
    for width in (64, 128, 256, 512):
        parts += [
            nn.Conv2d(last, width, 4, 2, 1),
            *([nn.BatchNorm2d(width)] if norm else []),
            nn.LeakyReLU(0.2, inplace=norm),
        ]
        last = width
    return nn.Sequential(*parts, nn.Conv2d(last, 1, 4), nn.Flatten()).cuda()


@config(128)
def dcgan_two_optimizers(batch):
    g, d = _generator(), _critic(norm=True)
    og, od = (torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (g, d))
    real = images(batch, 64)

    def step():
        fake = g(torch.randn(batch, 128, 1, 1, device="cuda"))
        od.zero_grad()
        loss = F.softplus(-d(real)).mean() + F.softplus(d(fake.detach())).mean()
        loss.backward()
        od.step()
        og.zero_grad()
        F.softplus(-d(fake)).mean().backward()
        og.step()

    return step


@config(64, held_out=True)
def wgan_gradient_penalty(batch):
    g, d = _generator(), _critic(norm=False)
    og, od = (torch.optim.Adam(m.parameters(), lr=1e-4, betas=(0.0, 0.9)) for m in (g, d))
    real = images(batch, 64)

    def step():
        for _ in range(2):
            fake = g(torch.randn(batch, 128, 1, 1, device="cuda")).detach()
            mix = torch.rand(batch, 1, 1, 1, device="cuda")
            between = (mix * real + (1 - mix) * fake).requires_grad_()
            (slope,) = torch.autograd.grad(d(between).sum(), between, create_graph=True)
            penalty = ((slope.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
            od.zero_grad()
            (d(fake).mean() - d(real).mean() + 10 * penalty).backward()
            od.step()
        og.zero_grad()
        (-d(g(torch.randn(batch, 128, 1, 1, device="cuda"))).mean()).backward()
        og.step()

    return step


class Res(nn.Module):
    def __init__(self, cin, cout, time):
        super().__init__()
        self.n1, self.n2 = nn.GroupNorm(32, cin), nn.GroupNorm(32, cout)
        self.c1, self.c2 = nn.Conv2d(cin, cout, 3, padding=1), nn.Conv2d(cout, cout, 3, padding=1)
        self.time = nn.Linear(time, cout)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, t):
        h = self.c1(F.silu(self.n1(x))) + self.time(F.silu(t))[:, :, None, None]
        return self.skip(x) + self.c2(F.silu(self.n2(h)))


class Attention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.norm, self.qkv, self.out, self.heads = (
            nn.GroupNorm(32, width),
            nn.Conv2d(width, 3 * width, 1),
            nn.Conv2d(width, width, 1),
            heads,
        )

    def forward(self, x, t):
        b, c, h, w = x.shape
        q, k, v = (
            self.qkv(self.norm(x)).view(b, 3, self.heads, c // self.heads, h * w).transpose(-1, -2).unbind(1)
        )
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(-1, -2).reshape(b, c, h, w))


class Diffusion(nn.Module):
    def __init__(self, widths=(128, 256, 384), ckpt=False):
        super().__init__()
        time = 512
        self.time = nn.Sequential(nn.Linear(widths[0], time), nn.SiLU(), nn.Linear(time, time))
        self.stem, self.ckpt, self.width = nn.Conv2d(3, widths[0], 3, padding=1), ckpt, widths[0]
        self.down, self.up, last = nn.ModuleList(), nn.ModuleList(), widths[0]
        for n, width in enumerate(widths):
            self.down.append(
                nn.ModuleList(
                    [
                        Res(last, width, time),
                        Attention(width) if n == 2 else None,
                        nn.Conv2d(width, width, 3, 2, 1) if n < 2 else None,
                    ]
                )
            )
            last = width
        self.mid = nn.ModuleList([Res(last, last, time), Attention(last), Res(last, last, time)])
        for width in reversed(widths):
            self.up.append(nn.ModuleList([Res(last if k == 0 else width, width, time) for k in range(2)]))
            last = width
        self.join = nn.ModuleList(nn.Conv2d(2 * width, width, 1) for width in reversed(widths))
        self.norm, self.out = nn.GroupNorm(32, last), nn.Conv2d(last, 3, 3, padding=1)

    def run(self, part, x, t):
        return checkpoint(part, x, t, use_reentrant=False) if self.ckpt else part(x, t)

    def forward(self, x, step):
        angles = step[:, None] * torch.exp(-torch.arange(self.width // 2, device=x.device) / 16)
        t = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        h, kept = self.stem(x), []
        for res, attention, shrink in self.down:
            h = self.run(res, h, t)
            if attention is not None:
                h = self.run(attention, h, t)
            kept.append(h)
            if shrink is not None:
                h = shrink(h)
        for part in self.mid:
            h = self.run(part, h, t)
        for n, (blocks, join) in enumerate(zip(self.up, self.join)):
            if n:
                h = F.interpolate(h, scale_factor=2, mode="nearest")
            for k, block in enumerate(blocks):
                h = self.run(block, h, t)
                if k == 0:
                    h = join(torch.cat([h, kept.pop()], 1))
        return self.out(F.silu(self.norm(h)))


def _noise(model, x):
    def loss():
        noise, step = torch.randn_like(x), torch.rand(len(x), device="cuda")
        mixed = x * (1 - step)[:, None, None, None] + noise * step[:, None, None, None]
        return F.mse_loss(model(mixed, step), noise)

    return loss


@config(16, limit=5)
def diffusion_bf16_with_average(batch):
    model = Diffusion().cuda()
    average = copy.deepcopy(model).requires_grad_(False)
    plain = train(
        model,
        _noise(model, images(batch, 64)),
        torch.optim.AdamW(model.parameters(), fused=True),
        amp=torch.bfloat16,
    )

    def step():
        plain()
        with torch.no_grad():
            for kept, new in zip(average.parameters(), model.parameters()):
                kept.lerp_(new, 0.01)

    return step


@config(16, held_out=True)
def diffusion_fp16_checkpointed(batch):
    model = Diffusion(ckpt=True).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    return train(model, _noise(model, images(batch, 64)), optimizer, amp=torch.float16, scaler=True, clip=1.0)


def _double(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True), nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))  # fmt: skip


@config(6, held_out=True)
def unet_bilinear_bf16(batch):
    widths = (48, 96, 192, 384)
    downs = nn.ModuleList(_double(a, b) for a, b in zip((1, *widths), widths))
    ups = nn.ModuleList(_double(a + b, b) for a, b in zip(widths[:0:-1], widths[-2::-1]))
    head = nn.Conv2d(widths[0], 1, 1)
    model = nn.ModuleList([downs, ups, head]).cuda()
    x, y = images(batch, 256, channels=1), (images(batch, 256, channels=1) > 0).float()

    def loss():
        h, kept = x, []
        for n, part in enumerate(downs):
            h = part(F.max_pool2d(h, 2) if n else h)
            kept.append(h)
        kept.pop()
        for part in ups:
            h = part(
                torch.cat(
                    [F.interpolate(h, scale_factor=2, mode="bilinear", align_corners=False), kept.pop()], 1
                )
            )
        logits = head(h)
        p = torch.sigmoid(logits)
        dice = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
        return F.binary_cross_entropy_with_logits(logits, y) + dice

    return train(model, loss, torch.optim.Adam(model.parameters()), amp=torch.bfloat16)
