import torch
from torch import nn

torch.manual_seed(32)
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64))
head = nn.Linear(64, 2)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-3)
x = torch.randn(128, 16) * 9e4
y = (x[:, 0] > 0).long()


def unit(z):
    z = z.float()
    return z / z.norm(dim=1, keepdim=True)


for step in range(40):
    b = torch.randperm(128)[:16]
    loss = nn.functional.cross_entropy(head(unit(net(x[b])).float()), y[b])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
