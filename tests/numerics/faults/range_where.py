# radial distance, "safe" because of the where
import torch
from torch import nn

torch.manual_seed(10)
offsets = torch.randn(450, 3)
offsets[333] = 0.0
label = (offsets.norm(dim=1) > 1.6).float()
warp = nn.Linear(3, 3, bias=False)
head = nn.Linear(1, 1)
opt = torch.optim.Adam(list(warp.parameters()) + list(head.parameters()), lr=5e-3)


def radius(v):
    sq = v.pow(2).sum(-1, keepdim=True)
    return torch.where(sq > 0, torch.sqrt(sq), torch.zeros_like(sq))


for epoch in range(2):
    order = torch.arange(450)
    for start in range(0, 450, 15):
        sel = order[start : start + 15]
        logit = head(radius(warp(offsets[sel]))).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(logit, label[sel])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, loss.item())
