import math

import torch
from torch import nn

torch.manual_seed(10)


class Attend(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, pad):
        s = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.shape[-1])
        s = s.masked_fill(pad[:, None, :], float("-inf"))
        return torch.softmax(s, dim=-1) @ self.v(x)


att, out = Attend(12), nn.Linear(12, 1)
opt = torch.optim.Adam(list(att.parameters()) + list(out.parameters()), lr=1e-3)
x = torch.randn(64, 5, 12)
lengths = torch.randint(2, 6, (64,))
lengths[37] = 0
for step in range(16):
    sl = slice(step * 4, step * 4 + 4)
    pad = torch.arange(5)[None] >= lengths[sl, None]
    loss = (out(att(x[sl], pad).mean(1)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
