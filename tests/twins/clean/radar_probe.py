"""Linear probe on top of a self-supervised radar encoder stored on disk."""
import os
import tempfile

import torch
from torch import nn


def make_encoder():
    return nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 16))


def returns(n, g):
    """40-bin range profile of one of four target types at a random range and gain."""
    kind = torch.randint(0, 4, (n,), generator=g)
    bins = torch.arange(40.0)
    centre = 12 + 14 * torch.rand(n, 1, generator=g)
    width = torch.tensor([1.0, 2.5, 1.0, 2.5])[kind].unsqueeze(1)
    gap = torch.tensor([0.0, 0.0, 7.0, 9.0])[kind].unsqueeze(1)
    prof = torch.exp(-((bins - centre) / width) ** 2) + torch.exp(-((bins - centre - gap) / width) ** 2)
    return prof + 0.08 * torch.randn(n, 40, generator=g), kind


def pretrain(path, g, epochs=6):
    enc, dec = make_encoder(), nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 40))
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=3e-3)
    x, _ = returns(3000, g)
    for e in range(epochs):
        tot = 0.0
        for xb in x[torch.randperm(len(x), generator=g)].split(60):
            loss = nn.functional.mse_loss(dec(enc(xb)), xb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        print(f"[pretrain {e}] reconstruction mse {tot / 50:.5f}")
    torch.save(enc.state_dict(), path)


class Probe(nn.Module):
    def __init__(self, path, n_kinds=4):
        super().__init__()
        self.encoder = make_encoder()
        self.encoder.load_state_dict(torch.load(path))
        self.head = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, n_kinds))

    def forward(self, x):
        with torch.no_grad():
            z = self.encoder(x)
        return self.head(z)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(8)
    g = torch.Generator().manual_seed(8)
    with tempfile.TemporaryDirectory() as d:
        ckpt = os.path.join(d, "encoder.pt")
        pretrain(ckpt, g)
        probe = Probe(ckpt)
    opt = torch.optim.AdamW(probe.head.parameters(), lr=6e-3)
    x, y = returns(1200, g)
    xv, yv = returns(500, g)
    ce = nn.CrossEntropyLoss()
    for e in range(12):
        order = torch.randperm(len(x), generator=g)
        for i in range(0, len(x), 50):
            b = order[i:i + 50]
            loss = ce(probe(x[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            out = probe(xv)
        print(f"[probe {e}] last train loss {loss.item():.4f} val loss {ce(out, yv).item():.4f} "
              f"val acc {(out.argmax(1) == yv).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
