import math
import torch
from torch import nn


class Causal(nn.Module):
    def __init__(self, v=30, d=24, t=16):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, d), nn.Embedding(t, d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, v)
        self.register_buffer("mask", torch.triu(torch.full((t, t), float("-inf")), diagonal=1))

    def forward(self, ids):
        h = self.tok(ids) + self.pos.weight
        q, k, v = self.qkv(h).chunk(3, -1)
        att = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]) + self.mask
        return self.out(h + att.softmax(-1) @ v)


torch.manual_seed(4)
stream = torch.tensor([(3 * i + i // 7) % 30 for i in range(4000)])
model = Causal()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(80):
    at = torch.randint(0, 3900, (12,))
    ids = torch.stack([stream[a : a + 17] for a in at])
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
