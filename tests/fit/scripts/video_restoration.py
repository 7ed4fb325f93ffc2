"""A small video transformer: five-dimensional clips, drop path, reentrant checkpoints, folded into images for convolutions."""
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


def drop_path(x, p, training):
    if p == 0.0 or not training:
        return x
    keep = 1 - p
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    mask = keep + torch.rand(shape, dtype=x.dtype, device=x.device)
    mask.floor_()
    return x.div(keep) * mask


class Block(nn.Module):
    def __init__(self, dim, p):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.p = p

    def inner(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, n, 3, 2, c // 2).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c)
        x = x + drop_path(self.proj(a), self.p, self.training)
        return x + drop_path(self.mlp(self.norm2(x)), self.p, self.training)

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=True)


class Restorer(nn.Module):
    def __init__(self, dim=16, depth=3):
        super().__init__()
        self.head = nn.Conv2d(3, dim, 3, padding=1)
        self.time = nn.Conv3d(dim, dim, 3, padding=1)
        self.blocks = nn.ModuleList(Block(dim, 0.1) for _ in range(depth))
        self.tail = nn.Conv2d(dim, 3, 3, padding=1)

    def forward(self, clip):
        b, t, c, h, w = clip.shape
        x = self.head(clip.reshape(b * t, c, h, w))
        d = x.shape[1]
        x = self.time(x.reshape(b, t, d, h, w).transpose(1, 2))
        x = x.permute(0, 2, 3, 4, 1).reshape(b, t * h * w, d)
        for block in self.blocks:
            x = block(x)
        x = x.reshape(b * t, h, w, d).permute(0, 3, 1, 2)
        return clip + self.tail(x).reshape(b, t, c, h, w)


torch.manual_seed(0)
clips = torch.rand(16, 3, 3, 8, 8)
loader = DataLoader(TensorDataset(clips + 0.1 * torch.randn_like(clips), clips), batch_size=4, shuffle=True)
model = Restorer()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
    for noisy, clean in loader:
        loss = F.l1_loss(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "model.pt")
