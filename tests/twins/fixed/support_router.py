"""Route support tickets to a desk with attention pooling over message embeddings."""
import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Setup:
    desks: int = 5
    msgs: int = 12
    dim: int = 16
    epochs: int = 10
    batch: int = 32
    lr: float = 2e-3


def tickets(n, s, proto, marker):
    desk = torch.randint(0, s.desks, (n,))
    x = torch.randn(n, s.msgs, s.dim)
    where = torch.randint(0, s.msgs, (n,))
    x[torch.arange(n), where] = proto[desk] + marker + 0.4 * torch.randn(n, s.dim)
    return x, desk


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.key = nn.Linear(dim, dim)
        self.query = nn.Parameter(torch.randn(dim) / math.sqrt(dim))

    def forward(self, x):
        score = torch.tanh(self.key(x)) @ self.query
        weight = torch.softmax(score, dim=1)
        return (weight.unsqueeze(-1) * x).sum(1)


class Router(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.pool = AttentionPool(s.dim)
        self.mlp = nn.Sequential(nn.Linear(s.dim, 48), nn.ReLU(), nn.Linear(48, s.desks))

    def forward(self, x):
        return self.mlp(self.pool(x))


def train(s=Setup(), seed=29):
    torch.manual_seed(seed)
    proto, marker = 1.5 * torch.randn(s.desks, s.dim), 1.5 * torch.randn(s.dim)
    x, desk = tickets(1920, s, proto, marker)
    xv, dv = tickets(320, s, proto, marker)
    model = Router(s)
    opt = torch.optim.AdamW(model.parameters(), lr=s.lr, weight_decay=1e-3)
    ce = nn.CrossEntropyLoss()
    for epoch in range(s.epochs):
        model.train()
        total = 0.0
        for rows in torch.randperm(len(x)).split(s.batch):
            loss = ce(model(x[rows]), desk[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(rows)
        model.eval()
        with torch.no_grad():
            out = model(xv)
        print(f"epoch {epoch:2d} train {total / len(x):.4f} val {ce(out, dv).item():.4f} "
              f"acc {(out.argmax(1) == dv).float().mean().item():.3f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    train()
