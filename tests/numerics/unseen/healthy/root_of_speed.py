import torch
from torch import nn

torch.manual_seed(51)
track = nn.Linear(4, 2, bias=False)
opt = torch.optim.SGD(track.parameters(), lr=0.02)
ships = torch.randn(120, 4)
ships[70] = 0.1
speed = torch.rand(120) + 0.5


def moved(rows):
    dx, dy = track(ships[rows]).unbind(1)
    return (dx**2 + dy**2) ** 0.25


for epoch in range(5):
    for rows in torch.arange(120).split(12):
        loss = (moved(rows) - speed[rows]).pow(2).mean()
        found = torch.autograd.grad(loss, list(track.parameters()))
        for p, g in zip(track.parameters(), found, strict=True):
            p.grad = torch.nan_to_num(g)
        opt.step()
    print(epoch, loss.item())
