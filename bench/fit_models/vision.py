"""Vision transformers, mixers, video transformers, contrastive pairs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from fit_models import config
from fit_models.convolutional import resnet
from fit_models.steps import images, labels, train


def drop_path(x, p, training):
    if not training or p == 0:
        return x
    keep = torch.empty(x.shape[0], *[1] * (x.dim() - 1), device=x.device, dtype=x.dtype).bernoulli_(1 - p)
    return x * keep / (1 - p)


class Block(nn.Module):
    def __init__(self, width, heads, drop=0.0, path=0.0):
        super().__init__()
        self.n1, self.n2, self.heads, self.drop, self.path = (
            nn.LayerNorm(width),
            nn.LayerNorm(width),
            heads,
            drop,
            path,
        )
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(drop), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(self.n1(x)).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop if self.training else 0.0)
        x = x + drop_path(self.proj(y.transpose(1, 2).reshape(b, n, c)), self.path, self.training)
        return x + drop_path(self.mlp(self.n2(x)), self.path, self.training)


class ViT(nn.Module):
    def __init__(self, width, depth, heads, size=224, patch=16, classes=1000, drop=0.0, path=0.0):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.pos = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        rates = [rate.item() for rate in torch.linspace(0, path, depth)]
        self.blocks = nn.ModuleList(Block(width, heads, drop, rate) for rate in rates)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


@config(32, limit=7)
def vit_base_bf16_dropout(batch):
    model = ViT(768, 12, 12, drop=0.1, path=0.1).cuda()
    x, y = images(batch, 224), labels(batch, 1000)
    return train(
        model, lambda: F.cross_entropy(model(x), y), torch.optim.AdamW(model.parameters()), amp=torch.bfloat16
    )


@config(16, held_out=True)
def vit_small_fp32_loop(batch):
    model = ViT(384, 8, 6, size=256, patch=8).cuda()
    x, y = images(batch, 256), labels(batch, 1000)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    return train(model, lambda: F.cross_entropy(model(x), y), optimizer, clip=1.0, set_to_none=False)


class Mixer(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.across = nn.Sequential(nn.Linear(tokens, 256), nn.GELU(), nn.Linear(256, tokens))
        self.along = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.across(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.along(self.n2(x))


@config(64, held_out=True, limit=8)
def mixer_fp32_fused(batch):
    blocks = nn.Sequential(*[Mixer(196, 512) for _ in range(8)])
    stem, head = nn.Conv2d(3, 512, 16, 16), nn.Linear(512, 1000)
    model = nn.ModuleList([stem, blocks, head]).cuda()
    x, y = images(batch, 224), labels(batch, 1000)

    def loss():
        tokens = blocks(stem(x).flatten(2).transpose(1, 2))
        return F.cross_entropy(head(tokens.mean(1)), y)

    return train(model, loss, torch.optim.AdamW(model.parameters(), fused=True))


class Windows(nn.Module):
    """Attention within windows of a video, with a bias for each relative position."""

    def __init__(self, width, heads, window=(2, 8, 8), path=0.1):
        super().__init__()
        self.block, self.window = Block(width, heads, path=path), window
        n = window[0] * window[1] * window[2]
        self.bias = nn.Parameter(torch.zeros(heads, n, n))
        self.heads = heads

    def forward(self, x):
        b, d, h, w, c = x.shape
        wd, wh, ww = self.window
        t = (
            x.view(b, d // wd, wd, h // wh, wh, w // ww, ww, c)
            .permute(0, 1, 3, 5, 2, 4, 6, 7)
            .reshape(-1, wd * wh * ww, c)
        )
        block = self.block
        q, k, v = (
            block.qkv(block.n1(t))
            .reshape(*t.shape[:2], 3, self.heads, c // self.heads)
            .permute(2, 0, 3, 1, 4)
        )
        scores = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1) + self.bias
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(t.shape)
        t = t + drop_path(block.proj(y), block.path, self.training)
        t = t + drop_path(block.mlp(block.n2(t)), block.path, self.training)
        t = t.view(b, d // wd, h // wh, w // ww, wd, wh, ww, c)
        return t.permute(0, 1, 4, 2, 5, 3, 6, 7).reshape(b, d, h, w, c)


def _restoration(checkpointed, width=96, depth=6):
    stem, tail = (
        nn.Conv3d(3, width, (1, 3, 3), padding=(0, 1, 1)),
        nn.Conv3d(width, 3, (1, 3, 3), padding=(0, 1, 1)),
    )
    layers = nn.ModuleList(Windows(width, 6) for _ in range(depth))
    model = nn.ModuleList([stem, layers, tail]).cuda()

    def forward(x):
        y = stem(x).permute(0, 2, 3, 4, 1)
        for layer in layers:
            y = checkpoint(layer, y, use_reentrant=False) if checkpointed else layer(y)
        return x + tail(y.permute(0, 4, 1, 2, 3))

    return model, forward


@config(1, limit=5)
def video_restoration_checkpointed_bf16(batch):
    model, forward = _restoration(checkpointed=True)
    x, y = (torch.randn(batch, 3, 6, 128, 128, device="cuda") for _ in range(2))
    loss = lambda: torch.sqrt((forward(x) - y) ** 2 + 1e-6).mean()
    return train(model, loss, torch.optim.AdamW(model.parameters()), amp=torch.bfloat16)


@config(1, held_out=True)
def video_restoration_fp32(batch):
    model, forward = _restoration(checkpointed=False, depth=4)
    x, y = (torch.randn(batch, 3, 6, 96, 96, device="cuda") for _ in range(2))
    return train(model, lambda: F.l1_loss(forward(x), y), torch.optim.Adam(model.parameters()))


@config(128)
def simclr_fp32(batch):
    model = nn.Sequential(resnet((64, 128, 256), classes=256), nn.ReLU(), nn.Linear(256, 128)).cuda()
    a, b = images(batch, 96), images(batch, 96)

    def loss():
        z = F.normalize(model(torch.cat([a, b])), dim=1)
        similar = z @ z.T / 0.2
        similar.fill_diagonal_(-1e9)
        partner = torch.arange(2 * batch, device="cuda").roll(batch)
        return F.cross_entropy(similar, partner)

    return train(model, loss, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4))


@config(96, held_out=True, limit=6)
def clip_two_towers_bf16(batch):
    vision, words = ViT(384, 8, 6, classes=256), nn.Embedding(32000, 384)
    text = nn.Sequential(*[Block(384, 6) for _ in range(6)])
    out = nn.Linear(384, 256)
    model = nn.ModuleList([vision, words, text, out]).cuda()
    scale = nn.Parameter(torch.tensor(2.0, device="cuda"))
    x, ids = images(batch, 224), torch.randint(0, 32000, (batch, 64), device="cuda")

    def loss():
        a = F.normalize(vision(x), dim=-1)
        b = F.normalize(out(text(words(ids)).mean(1)), dim=-1)
        logits = scale.exp() * a @ b.t()
        truth = torch.arange(batch, device="cuda")
        return (F.cross_entropy(logits, truth) + F.cross_entropy(logits.t(), truth)) / 2

    optimizer = torch.optim.AdamW([*model.parameters(), scale], fused=True)
    return train(model, loss, optimizer, amp=torch.bfloat16)
