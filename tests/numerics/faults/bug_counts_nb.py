"""Negative binomial regression, dispersion through a ReLU."""

import torch
from torch import nn

torch.manual_seed(127)
X = torch.randn(500, 5)
Y = torch.poisson(torch.exp(0.4 * X[:, 0]))


class NB(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Linear(5, 1)
        self.disp = nn.Linear(5, 1)
        nn.init.constant_(self.disp.bias, 1.6)

    def forward(self, x, y):
        mu = torch.exp(self.mu(x)).squeeze(1)
        k = torch.relu(self.disp(x)).squeeze(1)
        ll = torch.lgamma(y + k) - torch.lgamma(k)
        ll = ll + torch.xlogy(k, k + 1e-6) + torch.xlogy(y, mu) - (k + y) * torch.log(k + mu)
        return -ll.mean()


model = NB()
opt = torch.optim.Adam(model.parameters(), lr=5e-2)
for i in range(100):
    b = torch.randperm(500)[:40]
    loss = model(X[b], Y[b])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
