"""Linear warm-up whose step count was meant to be divided."""

import torch
from torch import nn

torch.manual_seed(73)
x = torch.randn(512, 20)
y = x @ torch.randn(20, 1)
model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 1))
opt = torch.optim.SGD(model.parameters(), lr=1e-3)


def lr_at(step):
    return 1e-3 * (1 + step)  # should be step / 1000


for step in range(400):
    for group in opt.param_groups:
        group["lr"] = lr_at(step)
    i = (step * 64) % 512
    pred = model(x[i : i + 64])
    loss = ((pred - y[i : i + 64]) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, loss.item())
