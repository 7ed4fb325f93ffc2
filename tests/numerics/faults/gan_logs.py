import torch
from torch import nn

# vanilla GAN, losses written as in the paper
torch.manual_seed(89)
G = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())
opt_g = torch.optim.Adam(G.parameters(), lr=5e-2)
opt_d = torch.optim.Adam(D.parameters(), lr=5e-2)


def real_batch(n):
    return torch.randn(n, 2) * 0.5 + torch.tensor([40.0, -30.0])


for it in range(40):
    real = real_batch(32)
    fake = G(torch.randn(32, 2))
    d_loss = -(torch.log(D(real)) + torch.log(1 - D(fake.detach()))).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    fake = G(torch.randn(32, 2))
    g_loss = torch.log(1 - D(fake)).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if it % 8 == 0:
        print(it, d_loss.item(), g_loss.item())
