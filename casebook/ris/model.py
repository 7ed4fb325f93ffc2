"""A small transformer over the rows of the pilot covariance, with a backbone and a head."""

import torch
from data import steering
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        batch, tokens, width = x.shape
        split = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.mlp(self.norm2(x))


class Backbone(nn.Module):
    def __init__(self, pilots, width, depth, heads):
        super().__init__()
        self.embed = nn.Linear(2 * pilots, width)
        self.place = nn.Parameter(0.02 * torch.randn(pilots, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, pilots):
        x = self.embed(torch.cat([pilots.real, pilots.imag], dim=-1)) + self.place
        for block in self.blocks:
            x = block(x)
        return self.norm(x).flatten(1)


class Head(nn.Module):
    """Angles and powers of the paths, and a low-rank factor of the covariance at the elements."""

    def __init__(self, features, elements, paths, field):
        super().__init__()
        self.elements, self.paths, self.field = elements, paths, field
        self.trunk = nn.Sequential(nn.Linear(features, 256), nn.GELU())
        self.sines = nn.Linear(256, paths)
        self.powers = nn.Linear(256, paths)
        self.factor = nn.Linear(256, 2 * elements * paths)

    def forward(self, features):
        hidden = self.trunk(features)
        sines = 1.1 * self.field * torch.tanh(self.sines(hidden))
        powers = torch.softmax(self.powers(hidden), dim=-1)
        factor = self.factor(hidden).view(-1, 2, self.elements, self.paths)
        return {"sines": sines, "powers": powers, "factor": torch.complex(factor[:, 0], factor[:, 1])}


class RISNet(nn.Module):
    def __init__(self, array, width, depth, heads):
        super().__init__()
        self.elements = array["elements"]
        self.backbone = Backbone(array["pilots"], width, depth, heads)
        self.head = Head(array["pilots"] * width, array["elements"], array["paths"], array["field"])

    def forward(self, pilots):
        found = self.head(self.backbone(pilots))
        response = steering(found["sines"], self.elements)
        found["from_angles"] = response @ (found["powers"][..., None] * response.mH)
        found["covariance"] = found["factor"] @ found["factor"].mH
        return found
