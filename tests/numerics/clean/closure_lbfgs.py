"""L-BFGS with a line search calls its closure many times."""

import torch
from torch import nn

torch.manual_seed(29)
x = torch.linspace(-2, 2, 120).unsqueeze(1)
y = torch.exp(-x * x)
net = nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 1))
opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=8, line_search_fn="strong_wolfe")
best = float("inf")
for outer in range(15):

    def closure():
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        return loss

    now = float(opt.step(closure))
    best = min(best, now)
print(best)
