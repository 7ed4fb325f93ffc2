"""Readmission risk from diagnosis codes; the code table comes from an earlier, much larger corpus."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Cfg:
    codes: int = 400
    common: int = 160
    dim: int = 12
    per_visit: int = 5
    n_train: int = 1500
    epochs: int = 12
    batch: int = 50
    table_lr: float = 1e-3
    lr: float = 3e-3


def corpus_table(cfg, gen):
    return F.normalize(torch.randn(cfg.codes, cfg.dim, generator=gen), dim=1) * 2.0


def visits(cfg, n, table, w, gen, upto):
    codes = torch.randint(0, upto, (n, cfg.per_visit), generator=gen)
    z = table[codes].mean(1)
    score = 3.0 * torch.tanh(z @ w[:, 0] * 1.5) + 2.0 * (z @ w[:, 1])
    y = (score + 0.5 * torch.randn(n, generator=gen) > 0).float()
    return codes, y


class RiskModel(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = nn.EmbeddingBag.from_pretrained(table.clone(), freeze=False, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(table.shape[1], 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, codes):
        return self.mlp(self.table(codes)).squeeze(-1)


def main(cfg=Cfg()):
    torch.set_num_threads(1)
    torch.manual_seed(31)
    gen = torch.Generator().manual_seed(31)
    table = corpus_table(cfg, gen)
    w = torch.randn(cfg.dim, 2, generator=gen)
    codes, y = visits(cfg, cfg.n_train, table, w, gen, upto=cfg.common)
    vcodes, vy = visits(cfg, 800, table, w, gen, upto=cfg.codes)

    model = RiskModel(table)
    table_opt = torch.optim.SGD(model.table.parameters(), lr=cfg.table_lr)
    net_opt = torch.optim.Adam(model.mlp.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        model.train()
        seen = 0.0
        for idx in torch.randperm(len(codes), generator=gen).split(cfg.batch):
            loss = F.binary_cross_entropy_with_logits(model(codes[idx]), y[idx])
            table_opt.zero_grad()
            net_opt.zero_grad()
            loss.backward()
            table_opt.step()
            net_opt.step()
            seen += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            out = model(vcodes)
            val = F.binary_cross_entropy_with_logits(out, vy).item()
            acc = ((out > 0).float() == vy).float().mean().item()
            drift = (model.table.weight - table).norm(dim=1).max().item()
        print(f"epoch {epoch:2d} train {seen / len(codes):.4f} val {val:.4f} acc {acc:.3f} table drift {drift:.4f}")


if __name__ == "__main__":
    main()
