"""A small video restoration transformer: windows over two frames that attend to themselves and to each other."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

FRAMES = 2  # of a window


def drop_path(x, drop_prob, training):
    """Leave a branch out, sample by sample."""
    if drop_prob == 0.0 or not training:
        return x
    keep = 1 - drop_prob
    mask = x.new_empty(x.shape[0], *[1] * (x.dim() - 1)).bernoulli_(keep)
    return x * mask / keep


def partition(x, side):
    """(B, T, H, W, C) to (windows, tokens, C)."""
    b, t, h, w, c = x.shape
    x = x.view(b, t // FRAMES, FRAMES, h // side, side, w // side, side, c)
    return x.permute(0, 1, 3, 5, 2, 4, 6, 7).reshape(-1, FRAMES * side * side, c)


def restore(windows, side, shape):
    b, t, h, w, c = shape
    x = windows.view(b, t // FRAMES, h // side, w // side, FRAMES, side, side, c)
    return x.permute(0, 1, 4, 2, 5, 3, 6, 7).reshape(b, t, h, w, c)


def shift_bias(shape, side, shift, device):
    """After a cyclic shift a window can hold what lies at opposite borders: these hardly attend to each other."""
    region = torch.zeros(1, *shape, 1, device=device)
    label = 0
    for frames in (slice(0, -FRAMES), slice(-FRAMES, -shift[0]), slice(-shift[0], None)):
        for rows in (slice(0, -side), slice(-side, -shift[1]), slice(-shift[1], None)):
            for columns in (slice(0, -side), slice(-side, -shift[1]), slice(-shift[1], None)):
                region[:, frames, rows, columns] = label
                label += 1
    labels = partition(region, side).squeeze(-1)
    return -100.0 * (labels[:, None, :] != labels[:, :, None])


class Attention(nn.Module):
    """Self attention over the window, and mutual attention: each of its two frames asks the other one."""

    def __init__(self, dim, heads, tokens):
        super().__init__()
        self.heads = heads
        self.own = nn.Linear(dim, 3 * dim)
        self.mutual = nn.Linear(dim, 3 * dim)
        self.position = nn.Parameter(torch.zeros(tokens, dim))
        self.project = nn.Linear(2 * dim, dim)
        nn.init.trunc_normal_(self.position, std=0.02)

    def _heads(self, qkv):
        windows, tokens, _ = qkv.shape
        return qkv.view(windows, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)

    @staticmethod
    def attend(q, k, v, bias):
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
        if bias is not None:
            grouped = scores.unflatten(0, (-1, len(bias)))  # the windows of one clip, clip by clip
            scores = (grouped + bias[:, None]).flatten(0, 1)
        return scores.softmax(dim=-1) @ v

    def forward(self, x, bias):
        windows, tokens, dim = x.shape
        x = x + self.position
        own = self.attend(*self._heads(self.own(x)), bias)
        q, k, v = self._heads(self.mutual(x))
        one, two = slice(0, tokens // 2), slice(tokens // 2, None)  # the two frames
        asked = [
            self.attend(q[:, :, a], k[:, :, b], v[:, :, b], None if bias is None else bias[:, a, b])
            for a, b in ((one, two), (two, one))
        ]
        both = torch.cat([own, torch.cat(asked, dim=2)], dim=-1)
        return self.project(both.transpose(1, 2).reshape(windows, tokens, 2 * dim))


class Block(nn.Module):
    """Attention in windows, shifted in every second block, then a gated feed-forward."""

    def __init__(self, dim, heads, side, shifted, drop, use_checkpoint):
        super().__init__()
        self.side, self.shift = side, (FRAMES // 2, side // 2) if shifted else None
        self.drop, self.use_checkpoint = drop, use_checkpoint
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = Attention(dim, heads, FRAMES * side * side)
        self.gate = nn.Linear(dim, 4 * dim)
        self.out = nn.Linear(2 * dim, dim)

    def attend(self, x, bias):
        shape = x.shape
        x = self.norm1(x)
        if self.shift:
            frames, pixels = self.shift
            x = torch.roll(x, (-frames, -pixels, -pixels), dims=(1, 2, 3))
        x = restore(self.attention(partition(x, self.side), bias), self.side, shape)
        if self.shift:
            x = torch.roll(x, (frames, pixels, pixels), dims=(1, 2, 3))
        return drop_path(x, self.drop, self.training)

    def feed(self, x):
        gate, value = self.gate(self.norm2(x)).chunk(2, dim=-1)
        return drop_path(self.out(F.gelu(gate) * value), self.drop, self.training)

    def forward(self, x, bias):
        bias = bias if self.shift else None
        if self.use_checkpoint and self.training:
            x = x + checkpoint(self.attend, x, bias, use_reentrant=False)
            return x + checkpoint(self.feed, x, use_reentrant=False)
        x = x + self.attend(x, bias)
        return x + self.feed(x)


class SpikeVRT(nn.Module):
    """Predicts what to add to the blurred frames (B, T, 1, H, W), given their spikes (B, T, bins, H, W)."""

    def __init__(self, bins, dim, depth, heads, side, drop_path, use_checkpoint):
        super().__init__()
        self.side = side
        self.embed = nn.Conv2d(4 * (1 + bins), dim, 3, padding=1)
        self.blocks = nn.ModuleList(
            Block(dim, heads, side, index % 2 == 1, drop_path * index / max(1, depth - 1), use_checkpoint)
            for index in range(depth)
        )
        self.norm = nn.LayerNorm(dim)
        self.refine = nn.Conv2d(dim, dim, 3, padding=1)
        self.head = nn.Conv2d(dim, 4, 3, padding=1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, blur, spikes):
        b, t = blur.shape[:2]
        # Convolutions see single frames: time goes into the batch, and they are four-dimensional.
        frames = (2 * torch.cat([blur, spikes], dim=2) - 1).flatten(0, 1)
        frames = F.pixel_unshuffle(frames, 2).contiguous(memory_format=torch.channels_last)
        first = self.embed(frames)
        # The other way round the tokens are the last dimension; in channels_last this moves nothing.
        x = first.permute(0, 2, 3, 1).unflatten(0, (b, t))
        bias = shift_bias(x.shape[1:4], self.side, (FRAMES // 2, self.side // 2), x.device)
        for block in self.blocks:
            x = block(x, bias)
        deep = self.norm(x).flatten(0, 1).permute(0, 3, 1, 2)
        residual = self.head(F.gelu(self.refine(deep) + first))
        return blur + F.pixel_shuffle(residual, 2).unflatten(0, (b, t))
