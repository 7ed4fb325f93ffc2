"""Voltage model that predicts its own variance; the head is linear."""

import torch
import torch.nn as nn

torch.manual_seed(11)
X = torch.randn(512, 5)
w = torch.tensor([0.5, -0.2, 0.1, 0.0, 0.3])
Y = X @ w + 0.02 * torch.randn(512)

trunk = nn.Sequential(nn.Linear(5, 32), nn.ReLU())
mean_head = nn.Linear(32, 1)
var_head = nn.Linear(32, 1)
nn.init.constant_(var_head.bias, 1.0)
nn.init.normal_(var_head.weight, std=0.01)
params = list(trunk.parameters()) + list(mean_head.parameters()) + list(var_head.parameters())
opt = torch.optim.Adam(params, lr=2e-3)

for step in range(150):
    idx = torch.randint(0, 512, (64,))
    h = trunk(X[idx])
    mu = mean_head(h).squeeze(1)
    var = var_head(h).squeeze(1)
    sigma = torch.sqrt(var)
    z = (Y[idx] - mu) / (sigma + 0.05)
    loss = (0.5 * z**2 + (sigma + 0.05).log()).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, loss.item())
