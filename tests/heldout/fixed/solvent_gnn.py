"""Solubility of small random molecules with a message-passing network on padded graphs."""
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    n_train: int = 720
    n_val: int = 180
    micro_batch: int = 6
    accum: int = 4
    epochs: int = 10
    lr: float = 0.1
    momentum: float = 0.9


class Molecules(Dataset):
    ATOMS = torch.tensor([0.2, -0.5, 0.9, -1.1])

    def __init__(self, n, seed, max_atoms=12):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            k = int(torch.randint(6, max_atoms + 1, (1,), generator=g))
            kind = torch.randint(0, 4, (k,), generator=g)
            parent = (torch.rand(k, generator=g) * torch.arange(k)).long()
            adj = torch.zeros(k, k)
            adj[torch.arange(1, k), parent[1:]] = 1
            adj = ((adj + adj.t()) > 0).float()
            charge = self.ATOMS[kind]
            y = (charge * (adj @ charge)).sum() / k + charge.mean()
            self.items.append((kind, adj, y))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def pad(batch):
    m = max(len(k) for k, _, _ in batch)
    kind = torch.zeros(len(batch), m, dtype=torch.long)
    adj, mask = torch.zeros(len(batch), m, m), torch.zeros(len(batch), m, 1)
    for i, (k, a, _) in enumerate(batch):
        kind[i, :len(k)], adj[i, :len(k), :len(k)], mask[i, :len(k)] = k, a, 1
    return kind, adj, mask, torch.stack([y for *_, y in batch])


class MPNN(nn.Module):
    def __init__(self, d=24, rounds=2):
        super().__init__()
        self.emb = nn.Embedding(4, d)
        self.msg = nn.ModuleList(nn.Linear(2 * d, d) for _ in range(rounds))
        self.read = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, kind, adj, mask):
        h = self.emb(kind) * mask
        for lin in self.msg:
            h = torch.tanh(lin(torch.cat([h, adj @ h], -1))) * mask
        return self.read(h.sum(1) / mask.sum(1)).squeeze(-1)


def train(cfg: Config):
    torch.set_num_threads(1)
    torch.manual_seed(61)
    loader = DataLoader(Molecules(cfg.n_train, 1), cfg.micro_batch, shuffle=True, collate_fn=pad)
    val = pad(Molecules(cfg.n_val, 2).items)
    model = MPNN()
    opt = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=cfg.momentum)
    for epoch in range(cfg.epochs):
        model.train()
        total = 0.0
        for i, (kind, adj, mask, y) in enumerate(loader, 1):
            loss = nn.functional.mse_loss(model(kind, adj, mask), y)
            (loss / cfg.accum).backward()
            total += loss.item()
            if i % cfg.accum == 0:
                opt.step()
                opt.zero_grad()
        model.eval()
        with torch.no_grad():
            vm = nn.functional.mse_loss(model(*val[:3]), val[3]).item()
        print(f"epoch {epoch} train {total / len(loader):.4f} val {vm:.4f} (variance {val[3].var():.3f})")


if __name__ == "__main__":
    train(Config())
