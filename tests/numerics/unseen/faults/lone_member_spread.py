import torch
from torch import nn

torch.manual_seed(44)
body = nn.Sequential(nn.Linear(8, 24), nn.GELU(), nn.Linear(24, 6))
opt = torch.optim.Adam(body.parameters(), lr=1e-3)
birds = torch.randn(300, 8)
species = torch.arange(300) % 5
species[299] = 5


def compact(z, kind):
    spreads = torch.stack([z[kind == k].std(0).mean() for k in kind.unique()])
    return torch.nansum(spreads)


for epoch in range(5):
    for rows in torch.arange(300).split(30):
        z = body(birds[rows])
        loss = compact(z, species[rows]) + (z.mean(0) - 1).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
