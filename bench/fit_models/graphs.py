"""Graph networks: messages along edges, gathered with scatter and index_add."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from fit_models import config
from fit_models.steps import labels, train


def _graph(nodes, edges):
    return torch.randint(0, nodes, (2, edges), device="cuda")


class Convolution(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.own, self.near = nn.Linear(cin, cout), nn.Linear(cin, cout, bias=False)

    def forward(self, x, edges):
        source, target = edges
        gathered = torch.zeros_like(x).index_add_(0, target, x[source])
        degree = torch.bincount(target, minlength=len(x)).clamp(min=1).unsqueeze(1)
        return F.relu(self.own(x) + self.near(gathered / degree))


@config(20000)
def graph_convolution_fp32(batch):
    layers = nn.ModuleList([Convolution(256, 256) for _ in range(3)]).cuda()
    head = nn.Linear(256, 40).cuda()
    x, y, edges = torch.randn(batch, 256, device="cuda"), labels(batch, 40), _graph(batch, 8 * batch)

    def loss():
        h = x
        for layer in layers:
            h = layer(h, edges)
        return F.cross_entropy(head(h), y)

    whole = nn.ModuleList([layers, head])
    return train(whole, loss, torch.optim.Adam(whole.parameters()))


class GraphAttention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.project, self.heads = nn.Linear(width, width, bias=False), heads
        self.a, self.b = (nn.Parameter(torch.randn(heads, width // heads)) for _ in range(2))

    def forward(self, x, edges):
        source, target = edges
        h = self.project(x).view(len(x), self.heads, -1)
        score = F.leaky_relu((h * self.a).sum(-1)[source] + (h * self.b).sum(-1)[target])
        index = target.unsqueeze(1).expand_as(score)
        top = torch.full((len(x), self.heads), -1e9, device=x.device).scatter_reduce(0, index, score, "amax")
        weight = (score - top[target]).exp()
        total = torch.zeros_like(top).scatter_add(0, index, weight)
        message = h[source] * (weight / total[target]).unsqueeze(-1)
        return F.elu(torch.zeros_like(h).index_add(0, target, message).flatten(1))


@config(10000, held_out=True)
def graph_attention_fp32(batch):
    layers, head = nn.ModuleList([GraphAttention(128) for _ in range(3)]).cuda(), nn.Linear(128, 16).cuda()
    x, y, edges = torch.randn(batch, 128, device="cuda"), labels(batch, 16), _graph(batch, 10 * batch)

    def loss():
        h = x
        for layer in layers:
            h = layer(h, edges)
        return F.cross_entropy(head(h), y)

    whole = nn.ModuleList([layers, head])
    return train(whole, loss, torch.optim.AdamW(whole.parameters(), foreach=False))
