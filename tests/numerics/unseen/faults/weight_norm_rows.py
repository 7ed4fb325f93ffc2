import torch
from torch import nn
import torch.nn.functional as F


class WNLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.v = nn.Parameter(torch.randn(o, i) * 0.1)
        self.g = nn.Parameter(torch.ones(o, 1))
        with torch.no_grad():
            self.v[2] = 0

    def forward(self, x):
        w = self.g * self.v / self.v.norm(dim=1, keepdim=True)
        return F.linear(x, w)


torch.manual_seed(21)
m = nn.Sequential(WNLinear(5, 8), nn.ReLU(), WNLinear(8, 4))
opt = torch.optim.Adam(m.parameters(), 1e-3)
for _ in range(12):
    x = torch.randn(10, 5)
    loss = m(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
