"""Prototype network: cosine to class prototypes, written by hand."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 32)
        self.fc2 = nn.Linear(32, 16, bias=False)

    def forward(self, x):
        z = self.fc2(torch.relu(self.fc1(x)))
        return z / z.norm(dim=1, keepdim=True)


def make_batch(g, step):
    x = torch.randn(24, 10, generator=g)
    if step == 33:
        x[17] = 0  # failed detection: black crop
    y = (x[:, 0] > 0).long()
    return x, y


torch.manual_seed(9)
enc = Encoder()
nn.init.zeros_(enc.fc1.bias)
enc.fc1.bias.requires_grad_(False)
protos = nn.Parameter(torch.randn(2, 16))
opt = torch.optim.Adam([p for p in enc.parameters() if p.requires_grad] + [protos], lr=1e-2)
g = torch.Generator().manual_seed(0)
for step in range(50):
    x, y = make_batch(g, step)
    logits = 5 * enc(x) @ protos.t()
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f"step {step}: {loss.item():.3f}")
