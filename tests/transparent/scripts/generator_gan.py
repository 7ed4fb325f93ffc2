"""Two optimizers, a detached pass, an exponential average."""
import torch
from torch import nn
torch.manual_seed(0)
g, d = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(), nn.Linear(4, 1))
og, od = torch.optim.Adam(g.parameters(), 1e-2), torch.optim.Adam(d.parameters(), 1e-2)
average = torch.optim.swa_utils.AveragedModel(g)
bce = nn.BCEWithLogitsLoss()
for step in range(6):
    fake = g(torch.randn(8, 2))
    od.zero_grad()
    loss_d = bce(d(torch.randn(8, 2) + 1), torch.ones(8, 1)) + bce(d(fake.detach()), torch.zeros(8, 1))
    loss_d.backward()
    od.step()
    og.zero_grad()
    loss_g = bce(d(fake), torch.ones(8, 1))
    loss_g.backward()
    og.step()
    average.update_parameters(g)
    print(loss_d.item(), loss_g.item())
print(average.module.weight.sum().item())
