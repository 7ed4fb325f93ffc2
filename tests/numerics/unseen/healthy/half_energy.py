import torch
from torch import nn

torch.manual_seed(16)
net = nn.Linear(20, 20)
opt = torch.optim.SGD(net.parameters(), lr=1e-5)
scale = torch.linspace(1, 60, 30)
for i in range(30):
    x = torch.randn(8, 20) * scale[i] * 8
    z = net(x)
    z = z.float()
    energy = z.pow(2).sum(1)
    loss = energy.float().mean() * 1e-3
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
