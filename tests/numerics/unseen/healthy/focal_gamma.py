import torch
from torch import nn

torch.manual_seed(29)
net = nn.Linear(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)


def focal(logit, y, gamma=0.5):
    p = torch.sigmoid(logit)
    pt = torch.where(y > 0, p, 1 - p)
    return ((1 - pt + 1e-6) ** gamma * -torch.log(pt.clamp(min=1e-6))).mean()


for s in range(30):
    x = torch.randn(10, 6)
    if s == 19:
        x[2] = 1e5 * torch.sign(net.weight[0].detach())
    loss = focal(net(x).squeeze(1), torch.ones(10))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
