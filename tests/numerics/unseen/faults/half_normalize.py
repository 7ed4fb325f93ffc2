import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(52)
left, right = nn.Linear(10, 6), nn.Linear(10, 6)
opt = torch.optim.Adam([*left.parameters(), *right.parameters()], lr=1e-3)
pairs = torch.randn(200, 2, 10)


def codes(layer, rows):
    return F.normalize(torch.relu(layer(rows) - 0.9).half(), dim=1).float()


for step in range(50):
    batch = pairs[torch.randint(0, 200, (24,))]
    alike = codes(left, batch[:, 0]) @ codes(right, batch[:, 1]).T
    alike = torch.where(torch.isfinite(alike), alike, torch.zeros_like(alike))
    loss = F.cross_entropy(alike * 5, torch.arange(24))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
