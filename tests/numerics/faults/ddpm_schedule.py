# denoiser that predicts x0 but is trained on the noise; the schedule starts at beta = 0
import torch
from torch import nn

torch.manual_seed(101)
T = 200
betas = torch.linspace(0, 0.03, T)
abar = torch.cumprod(1 - betas, 0)
net = nn.Sequential(nn.Linear(5, 48), nn.SiLU(), nn.Linear(48, 4))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
data = torch.randn(2000, 4) * torch.tensor([1.0, 0.5, 2.0, 1.0])


def training_loss(x0):
    t = torch.randint(0, T, (len(x0),))
    a = abar[t].unsqueeze(1)
    noise = torch.randn_like(x0)
    xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
    pred = net(torch.cat([xt, t.unsqueeze(1) / T], 1))
    eps_hat = (xt - a.sqrt() * pred) / (1 - a).sqrt()
    return nn.functional.smooth_l1_loss(eps_hat, noise)


for step in range(60):
    loss = training_loss(data[torch.randint(0, 2000, (16,))])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 12 == 0:
        print(step, loss.item())
