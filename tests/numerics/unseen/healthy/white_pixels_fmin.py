import torch
from torch import nn

torch.manual_seed(47)
net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
raw = torch.rand(120, 1, 8, 8) * 0.9 + 0.1
raw[80:] -= 0.04
dark = 0.05
one = torch.ones(())


def display(frames):
    return torch.fmin((frames - dark).pow(1 / 2.2), one)


for epoch in range(4):
    for frames in raw.split(8):
        clean = display(frames)
        loss = (net(clean + 0.05 * torch.randn_like(clean)) - clean).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
