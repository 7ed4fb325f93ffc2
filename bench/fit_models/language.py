"""Encoders, decoders and mixtures of experts, written out."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from fit_models import config
from fit_models.steps import labels, train


def tokens(batch, length, vocabulary):
    return torch.randint(0, vocabulary, (batch, length), device="cuda")


@config(32)
def encoder_with_padding_fp32(batch):
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, activation="gelu")
    model = nn.ModuleDict(
        {
            "words": nn.Embedding(20000, 512),
            "body": nn.TransformerEncoder(layer, 6),
            "head": nn.Linear(512, 5),
        }
    ).cuda()
    x, y = tokens(batch, 256, 20000), labels(batch, 5)
    padding = torch.zeros(batch, 256, dtype=torch.bool, device="cuda")
    padding[:, 200:] = True

    def loss():
        h = model["body"](model["words"](x), src_key_padding_mask=padding)
        return F.cross_entropy(model["head"](h.mean(1)), y)

    return train(model, loss, torch.optim.AdamW(model.parameters()))


@config(24, held_out=True)
def translation_fp16_scaler(batch):
    body = nn.Transformer(512, 8, 4, 4, 2048, batch_first=True)
    model = nn.ModuleDict(
        {
            "a": nn.Embedding(16000, 512),
            "b": nn.Embedding(16000, 512),
            "body": body,
            "head": nn.Linear(512, 16000),
        }
    ).cuda()
    x, y = tokens(batch, 128, 16000), tokens(batch, 129, 16000)
    causal = nn.Transformer.generate_square_subsequent_mask(128, device="cuda")

    def loss():
        h = model["body"](model["a"](x), model["b"](y[:, :-1]), tgt_mask=causal)
        return F.cross_entropy(model["head"](h).flatten(0, 1), y[:, 1:].reshape(-1))

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    return train(model, loss, optimizer, amp=torch.float16, scaler=True, clip=1.0)


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Decoder(nn.Module):
    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.n1, self.n2 = RMSNorm(width), RMSNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, cos, sin):
        b, t, c = x.shape
        y = self.n1(x)
        q = self.q(y).view(b, t, self.heads, self.size).transpose(1, 2)
        k, v = self.kv(y).view(b, t, 2, self.groups, self.size).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = (z.repeat_interleave(self.heads // self.groups, 1) for z in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, c))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, width=768, depth=8, heads=12, groups=4, vocabulary=32000, reentrant=None):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Decoder(width, heads, groups, 2048) for _ in range(depth))
        self.norm, self.head = RMSNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.size, self.reentrant = width // heads, reentrant

    def forward(self, ids):
        x = self.words(ids)
        angles = torch.outer(
            torch.arange(ids.shape[1], device=ids.device),
            1e4 ** (-torch.arange(0, self.size, 2, device=ids.device) / self.size),
        )
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.layers:
            if self.reentrant is None:
                x = layer(x, cos, sin)
            else:
                x = checkpoint(layer, x, cos, sin, use_reentrant=self.reentrant)
        return self.head(self.norm(x))


def _next_token(model, ids):
    return lambda: F.cross_entropy(model(ids[:, :-1]).flatten(0, 1).float(), ids[:, 1:].reshape(-1))


@config(4, held_out=True, limit=7)
def decoder_pure_bf16(batch):
    model = Llama().to("cuda", torch.bfloat16)
    return train(
        model, _next_token(model, tokens(batch, 1025, 32000)), torch.optim.AdamW(model.parameters()), clip=1.0
    )


@config(4, limit=6)
def decoder_reentrant_accumulated(batch):
    model = Llama(reentrant=True).cuda()
    loss = _next_token(model, tokens(batch, 1025, 32000))
    return train(
        model, loss, torch.optim.AdamW(model.parameters()), amp=torch.bfloat16, accumulate=4, clip=1.0
    )


class Experts(nn.Module):
    """Each expert chooses its tokens: `capacity` of them, the best."""

    def __init__(self, width, experts, hidden):
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, hidden) * 0.02)
        self.down = nn.Parameter(torch.randn(experts, hidden, width) * 0.02)

    def forward(self, x):
        flat = x.flatten(0, -2)
        capacity = 2 * len(flat) // len(self.up)
        weight, chosen = self.router(flat).softmax(-1).t().topk(capacity, dim=-1)
        y = torch.bmm(F.gelu(torch.bmm(flat[chosen], self.up)), self.down) * weight.unsqueeze(-1)
        out = torch.zeros_like(flat).index_add_(0, chosen.flatten(), y.flatten(0, 1).to(flat.dtype))
        return x + out.view_as(x)


@config(8)
def experts_choose_tokens_bf16(batch):
    layers = nn.Sequential(*[m for _ in range(4) for m in (nn.LayerNorm(512), Experts(512, 16, 1024))])
    model = nn.ModuleDict(
        {"words": nn.Embedding(16000, 512), "layers": layers, "head": nn.Linear(512, 16000)}
    ).cuda()
    ids = tokens(batch, 512, 16000)
    loss = lambda: F.cross_entropy(
        model["head"](model["layers"](model["words"](ids))).flatten(0, 1), ids.flatten()
    )
    return train(model, loss, torch.optim.AdamW(model.parameters(), fused=True), amp=torch.bfloat16)


class Dispatch(nn.Module):
    """Tokens go to their best two experts through one-hot matrices, as in the first of these models."""

    def __init__(self, width, experts, hidden):
        super().__init__()
        self.router, self.experts = (
            nn.Linear(width, experts),
            nn.ModuleList(
                nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))
                for _ in range(experts)
            ),
        )

    def forward(self, x):
        flat = x.flatten(0, -2)
        gates = self.router(flat).softmax(-1)
        weight, chosen = gates.topk(2, dim=-1)
        mask = F.one_hot(chosen, len(self.experts)).to(flat.dtype)
        combine = (weight.unsqueeze(-1) * mask).sum(1)
        y = torch.stack([expert(flat) for expert in self.experts], 1)
        return x + torch.einsum("ne,nec->nc", combine, y.to(combine.dtype)).view_as(x)


@config(8, held_out=True)
def experts_dense_dispatch_fp32(batch):
    layers = nn.Sequential(*[m for _ in range(3) for m in (nn.LayerNorm(384), Dispatch(384, 8, 768))])
    model = nn.ModuleDict(
        {"words": nn.Embedding(8000, 384), "layers": layers, "head": nn.Linear(384, 8000)}
    ).cuda()
    ids = tokens(batch, 256, 8000)
    loss = lambda: F.cross_entropy(
        model["head"](model["layers"](model["words"](ids))).flatten(0, 1), ids.flatten()
    )
    return train(model, loss, torch.optim.AdamW(model.parameters()))
