import torch
from torch import nn

torch.manual_seed(31)
net = nn.Linear(6, 4, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
data = torch.randn(60, 6)
data[17] = 0


def length(v):
    return (v.square().sum(1) + 1e-12).sqrt()


for epoch in range(6):
    for chunk in data.chunk(6):
        opt.zero_grad()
        loss = (length(net(chunk)) - 1).abs().mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        if not torch.isfinite(norm):
            continue
        opt.step()
    print(epoch, loss.item())
