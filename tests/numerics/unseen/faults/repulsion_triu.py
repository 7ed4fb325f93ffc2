import torch
from torch import nn

torch.manual_seed(43)
encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(encoder.parameters(), lr=1e-3)
cells = torch.randn(200, 10)


def spread(z):
    gaps = (z[:, None] - z[None]).pow(2).sum(-1)
    return (1 / (gaps + 0.0)).triu(1).mean()


for step in range(40):
    z = encoder(cells[torch.randperm(200)[:12]])
    loss = z.pow(2).mean() + 1e-4 * spread(z)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
