import torch
import torch.nn as nn

NEG_INF = -1e9


class Pointer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)

    def forward(self, query, keys, padding):
        logits = torch.bmm(self.proj(query), keys.transpose(1, 2))
        logits.masked_fill_(padding.unsqueeze(1), NEG_INF)  # expect: PM502
        return logits


def causal(scores):
    n = scores.size(-1)
    upper = torch.triu(torch.ones(n, n, device=scores.device), diagonal=1).bool()
    return scores.masked_fill(mask=upper, value=-1e10)  # expect: PM502


def similarity(features):
    sim = torch.matmul(features, features.transpose(0, 1))
    eye = torch.eye(len(sim), dtype=torch.bool, device=sim.device)
    sim = torch.masked_fill(sim, eye, -100000.0)  # expect: PM502
    return sim


model = Pointer(256).cuda().half()
