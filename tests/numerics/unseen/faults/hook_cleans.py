import torch
from torch import nn

torch.manual_seed(33)
net = nn.Sequential(nn.Linear(4, 8, bias=False), nn.Linear(8, 8, bias=False))
for p in net.parameters():
    p.register_hook(lambda g: torch.where(torch.isnan(g), torch.zeros_like(g), g))
opt = torch.optim.Adam(net.parameters(), 1e-3)
pts = torch.randn(50, 4)
pts[::5] = 0
for step in range(40):
    b = torch.randint(0, 50, (10,))
    d = net(pts[b]).pow(2).sum(1).sqrt()
    loss = (d - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
