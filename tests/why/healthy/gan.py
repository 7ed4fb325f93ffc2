"""Two networks that train against each other: neither loss says how well it goes."""

import torch
from torch import nn

torch.manual_seed(1)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
d_opt = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
for step in range(100):
    angle = 6.2832 * torch.rand(64)
    real = torch.stack([angle.cos(), angle.sin()], 1)
    fake = generator(torch.randn(64, 4))
    d_loss = bce(critic(real), ones) + bce(critic(fake.detach()), zeros)
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    g_loss = bce(critic(fake), ones)
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    if step % 20 == 0:
        print(f"step {step} d {d_loss.item():.3f} g {g_loss.item():.3f}")
