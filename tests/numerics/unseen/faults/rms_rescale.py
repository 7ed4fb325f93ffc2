import torch
from torch import nn


class RMS(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))

    def forward(self, h):
        return self.g * h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True))


class Block(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.norm, self.ff = RMS(d), nn.Sequential(nn.Linear(d, 32), nn.SiLU(), nn.Linear(32, d))

    def forward(self, h):
        return h + self.ff(self.norm(h))


torch.manual_seed(20)
model = nn.Sequential(Block(), Block(), nn.Linear(16, 1))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
seqs = torch.randn(60, 4, 16)
seqs[33, 2] = 0.0
for b in seqs.split(6):
    loss = (model(b).squeeze(-1) - b.sum(-1)).abs().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(loss.item())
