# gradient accumulation over 3 micro-batches
import torch
from torch import nn

torch.manual_seed(83)
ACCUM = 3
vec = torch.randn(1080, 3)
ref = torch.nn.functional.normalize(torch.randn(1080, 3), dim=1)
vec[655] = 0.0  # missing measurement, stored as zeros
net = nn.Linear(3, 3, bias=False)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
opt.zero_grad()
for micro, (v, r) in enumerate(zip(vec.split(20), ref.split(20))):
    out = net(v)
    length = out.square().sum(1).sqrt()
    cos = (out * r).sum(1) / (length + 1e-8)
    loss = (1 - cos).mean() + 0.01 * length.mean()
    (loss / ACCUM).backward()
    if (micro + 1) % ACCUM == 0:
        opt.step()
        opt.zero_grad()
        print("step", (micro + 1) // ACCUM, loss.item())
