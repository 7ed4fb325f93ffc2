"""A vision transformer with the interface and the parameter names of DINOv2, so that its weights can be loaded.

`get_intermediate_layers(x, n, reshape=True)` gives (batch, channels, rows, columns) for each of the last n blocks.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class PatchEmbed(nn.Module):
    def __init__(self, patch_size, width):
        super().__init__()
        self.patch_size = patch_size
        self.proj = nn.Conv2d(3, width, kernel_size=patch_size, stride=patch_size)

    def forward(self, x):
        height, width = x.shape[-2:]
        assert height % self.patch_size == 0, (
            f"height {height} is not a multiple of the patch, {self.patch_size}"
        )
        assert width % self.patch_size == 0, (
            f"width {width} is not a multiple of the patch, {self.patch_size}"
        )
        return self.proj(x).flatten(2).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        x = F.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(batch, tokens, width))


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class LayerScale(nn.Module):
    def __init__(self, width, init):
        super().__init__()
        self.gamma = nn.Parameter(init * torch.ones(width))

    def forward(self, x):
        return x * self.gamma


class Block(nn.Module):
    def __init__(self, width, heads, mlp_ratio, layer_scale):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = Attention(width, heads)
        self.ls1 = LayerScale(width, layer_scale)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = Mlp(width, int(width * mlp_ratio))
        self.ls2 = LayerScale(width, layer_scale)

    def forward(self, x):
        x = x + self.ls1(self.attn(self.norm1(x)))
        return x + self.ls2(self.mlp(self.norm2(x)))


class DinoVisionTransformer(nn.Module):
    def __init__(self, width=384, depth=12, heads=6, patch_size=14, grid=37, mlp_ratio=4.0, layer_scale=1.0):
        super().__init__()
        self.patch_size = patch_size
        self.grid = grid  # the positions that were learnt are those of an image of grid x grid patches
        self.patch_embed = PatchEmbed(patch_size, width)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + grid * grid, width))
        self.blocks = nn.ModuleList(Block(width, heads, mlp_ratio, layer_scale) for _ in range(depth))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        nn.init.normal_(self.cls_token, std=1e-6)

    def positions(self, rows, columns):
        if rows == columns == self.grid:
            return self.pos_embed
        first, rest = self.pos_embed[:, :1], self.pos_embed[:, 1:]
        rest = rest.reshape(1, self.grid, self.grid, -1).permute(0, 3, 1, 2)
        rest = F.interpolate(rest, size=(rows, columns), mode="bicubic", align_corners=False)
        return torch.cat([first, rest.flatten(2).transpose(1, 2)], dim=1)

    def get_intermediate_layers(self, x, n=1, reshape=False, return_class_token=False, norm=True):
        batch, _, height, width = x.shape
        rows, columns = height // self.patch_size, width // self.patch_size
        tokens = torch.cat([self.cls_token.expand(batch, -1, -1), self.patch_embed(x)], dim=1)
        tokens = tokens + self.positions(rows, columns)
        outputs = []
        for index, block in enumerate(self.blocks):
            tokens = block(tokens)
            if index >= len(self.blocks) - n:
                outputs.append(self.norm(tokens) if norm else tokens)
        classes = [out[:, 0] for out in outputs]
        outputs = [out[:, 1:] for out in outputs]
        if reshape:
            outputs = [
                out.reshape(batch, rows, columns, -1).permute(0, 3, 1, 2).contiguous() for out in outputs
            ]
        return tuple(zip(outputs, classes, strict=True)) if return_class_token else tuple(outputs)


def load_dinov2(backbone, path):
    """Weights as published, for example dinov2_vits14_pretrain.pth; the mask token is of no use here."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    state.pop("mask_token", None)
    grid = math.isqrt(state["pos_embed"].shape[1] - 1)
    if grid != backbone.grid:
        raise ValueError(
            f"{path} has positions for {grid} x {grid} patches, the backbone for {backbone.grid}"
        )
    backbone.load_state_dict(state)
