"""Attention over passages written with einsum; a question without any passage."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Passages(Dataset):
    def __init__(self):
        gen = torch.Generator().manual_seed(3)
        self.q = torch.randn(512, 8, generator=gen)
        self.p = torch.randn(512, 5, 8, generator=gen)
        self.n = torch.randint(1, 6, (512,), generator=gen)
        self.n[333] = 0
        self.y = (self.q[:, 0] > 0).long()

    def __len__(self):
        return 512

    def __getitem__(self, i):
        return {"q": self.q[i], "p": self.p[i], "there": torch.arange(5) < self.n[i], "y": self.y[i]}


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.key, self.out = nn.Linear(8, 8), nn.Linear(16, 2)

    def forward(self, q, p, there):
        scores = torch.einsum("bd,bnd->bn", q, self.key(p)) / 8**0.5
        weights = scores.masked_fill(~there, float("-inf")).softmax(-1)
        read = torch.einsum("bn,bnd->bd", weights, p)
        return self.out(torch.cat([q, read], -1))


def main():
    torch.manual_seed(3)
    reader = Reader()
    opt = torch.optim.AdamW(reader.parameters(), lr=2e-3)
    for batch in DataLoader(Passages(), batch_size=16):
        loss = nn.functional.cross_entropy(reader(batch["q"], batch["p"], batch["there"]), batch["y"])
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    main()
