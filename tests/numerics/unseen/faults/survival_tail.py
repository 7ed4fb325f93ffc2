import torch
from torch import nn

torch.manual_seed(22)
risk = nn.Sequential(nn.Linear(9, 16), nn.ELU(), nn.Linear(16, 1))
opt = torch.optim.Adam(risk.parameters(), lr=0.01)
age = torch.rand(90, 9) * 4


def censored(x):
    hazard = torch.sigmoid(risk(x)).squeeze(1)
    return -torch.log1p(-hazard).mean()


for r in range(30):
    x = age[(r * 3) % 90 : (r * 3) % 90 + 3]
    if r == 20:
        x = x + torch.tensor([1e4] + [0.0] * 8) * torch.sign(risk[0].weight[:, 0].sum().detach() + 1e-3)
        x = torch.cat([x, torch.full((1, 9), 1e5), torch.full((1, 9), -1e5)])
    loss = censored(x) + 0.1 * risk(age[:5]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
