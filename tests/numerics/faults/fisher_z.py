# predict correlations, compare after the Fisher transform
import torch
from torch import nn

torch.manual_seed(113)
pairs = torch.randn(420, 8)
r = torch.tanh(pairs[:, 0] * 0.6)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1), nn.Hardtanh())
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(120):
    pick = torch.randint(0, 420, (30,))
    rho = net(pairs[pick]).squeeze(1)
    z = torch.atanh(rho)
    loss = nn.functional.smooth_l1_loss(z, torch.atanh(r[pick]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
