import torch
from torch import nn

torch.manual_seed(15)
f = nn.Linear(3, 3)
optimizer = torch.optim.Adam(f.parameters(), lr=0.05)


def ot(x, y, eps, iters=5):
    K = torch.exp(-(torch.cdist(x, y) ** 2) / eps)
    u = torch.ones(len(x))
    for _ in range(iters):
        v = 1.0 / (K.t() @ u)
        u = 1.0 / (K @ v + 1e-9)
    return (u[:, None] * K * v[None] * torch.cdist(x, y) ** 2).sum()


for k in range(24):
    a, b = torch.randn(10, 3), torch.randn(10, 3) + 1
    if k == 15:
        b[4] += 60
    loss = ot(f(a), b, eps=1.0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(k, float(loss))
