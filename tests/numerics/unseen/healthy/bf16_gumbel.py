import torch
from torch import nn
import torch.nn.functional as F


def gumbel(shape, dtype):
    u = torch.rand(shape).to(dtype)
    return -torch.log(-torch.log(u.float().clamp(1e-6, 1 - 1e-6)))


torch.manual_seed(34)
gate = nn.Linear(8, 6)
opt = torch.optim.Adam(gate.parameters(), lr=1e-2)
for i in range(50):
    x = torch.randn(64, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = gate(x)
        y = F.softmax((logits + gumbel(logits.shape, logits.dtype)) / 0.5, dim=-1)
        loss = (y * torch.arange(6)).sum(-1).float().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
