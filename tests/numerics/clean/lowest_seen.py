"""A buffer that starts at infinity and holds the lowest value seen; a teacher that follows."""

import copy

import torch
from torch import nn

torch.manual_seed(13)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Linear(20, 1))
        self.register_buffer("lowest", torch.full((6,), float("inf")))
        self.register_buffer("unused", torch.full((3,), float("-inf")))

    def forward(self, x):
        if self.training:
            self.lowest.copy_(torch.minimum(self.lowest, x.detach().amin(0)))
        return self.body(x)


net = Net()
teacher = copy.deepcopy(net).eval().requires_grad_(False)
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
x = torch.randn(512, 6)
y = torch.sin(x[:, :1])
for step in range(80):
    pick = torch.randint(0, 512, (32,))
    with torch.no_grad():
        hint = teacher(x[pick])
    loss = nn.functional.mse_loss(net(x[pick]), y[pick])
    loss = loss + 0.1 * nn.functional.mse_loss(net(x[pick]), hint)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for mine, new in zip(teacher.parameters(), net.parameters()):
            mine.lerp_(new, 0.02)
