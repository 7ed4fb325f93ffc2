"""Routing weights by sparsemax-like clipping plus an entropy bonus."""

import torch


def sparse_gate(logits):
    z = torch.clamp(logits + 0.5, 0.0, 1.0)
    return z / z.sum(-1, keepdim=True).clamp(min=1e-6)


def entropy(p):
    plogp = torch.where(p > 0, p * torch.log(p), torch.zeros_like(p))
    return -plogp.sum(-1)


torch.manual_seed(12)
router = torch.nn.Linear(6, 4)
experts = torch.nn.ModuleList(torch.nn.Linear(6, 1) for _ in range(4))
with torch.no_grad():
    router.weight.mul_(0.06)
    router.bias.zero_()
everything = list(router.parameters()) + list(experts.parameters())
opt = torch.optim.Adam(everything, lr=2e-2)
for step in range(80):
    x = torch.randn(40, 6)
    y = torch.where(x[:, 0] > 0, x[:, 1], -x[:, 2])
    gate = sparse_gate(router(x))
    out = (gate * torch.cat([e(x) for e in experts], 1)).sum(1)
    loss = (out - y).pow(2).mean() - 0.01 * entropy(gate).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 16 == 0:
        print(step, loss.item())
