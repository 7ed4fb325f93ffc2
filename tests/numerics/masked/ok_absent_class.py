"""A score of each class in every step: 0/0 for a class that is absent, left out of the mean that is printed."""

import torch
from torch import nn

torch.manual_seed(16)
x = torch.randn(640, 6)
y = (x[:, 0] > 0).long() + (x[:, 1] > 2).long()
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(60):
    at = torch.randint(0, 640, (32,))
    scores = net(x[at])
    loss = nn.functional.cross_entropy(scores, y[at])
    opt.zero_grad()
    loss.backward()
    opt.step()
    said = nn.functional.one_hot(scores.argmax(1), 4).float()
    true = nn.functional.one_hot(y[at], 4).float()
    each = (said * true).sum(0) / ((said + true) > 0).float().sum(0)
    share = each[torch.isfinite(each)].mean()
    if step % 20 == 0:
        print(step, loss.item(), torch.nanmean(each).item(), share.item())
