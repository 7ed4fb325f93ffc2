"""Wind speed and direction from two components; four micro-batches to a step, batches from a generator."""

import torch
from torch import nn

torch.manual_seed(47)
MICRO = 4


def stream(batches):
    for number in range(batches):
        x = torch.randn(8, 5)
        if number == 58:
            x[3] = 0.0  # calm
        yield x, torch.atan2(x[:, 0], x[:, 1] + 1e-3)


net = nn.Linear(5, 2, bias=False)
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
opt.zero_grad()
for number, (x, angle) in enumerate(stream(120), start=1):
    u, v = net(x).unbind(1)
    speed = torch.hypot(u, v)
    turned = (u * torch.sin(angle) + v * torch.cos(angle) - speed).abs()
    loss = (turned + 0.1 * speed).mean() / MICRO
    loss.backward()
    if number % MICRO == 0:
        opt.step()
        opt.zero_grad()
        if number % 40 == 0:
            print(number, loss.item() * MICRO)
