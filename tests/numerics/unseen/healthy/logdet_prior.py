import torch
from torch import nn

torch.manual_seed(25)
flow = nn.Linear(4, 4, bias=False)
opt = torch.optim.Adam(flow.parameters(), lr=1e-2)
x = torch.randn(64, 4)
for i in range(20):
    w = flow.weight
    if i == 11:
        w = w * torch.tensor([1.0, 1.0, 1.0, 0.0])
    prior = x @ w.t()
    gram = w @ w.t()
    gram = gram + 1e-3 * torch.eye(4)
    loss = 0.5 * prior.pow(2).sum(1).mean() - 0.5 * torch.logdet(gram)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
