"""Points on a ring, in half precision: two optimizers, one fused, share a scaler whose scale is too large at first."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(8)
maker = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
critic = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
of_maker = torch.optim.Adam(maker.parameters(), lr=1e-3, betas=(0.5, 0.99))
of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.99), fused=True)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**28, growth_interval=50)
angle = torch.rand(2000) * 6.283
ring = torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(2000, 2)
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)

for step in range(180):
    real = ring[torch.randint(0, 2000, (64,))]
    with torch.autocast("cpu", torch.float16):
        made = maker(torch.randn(64, 4))
        seen = F.binary_cross_entropy_with_logits(critic(real), ones)
        seen = seen + F.binary_cross_entropy_with_logits(critic(made.detach()), zeros)
    of_critic.zero_grad()
    scaler.scale(seen).backward()
    scaler.step(of_critic)
    with torch.autocast("cpu", torch.float16):
        fooled = F.binary_cross_entropy_with_logits(critic(made), ones)
    of_maker.zero_grad()
    scaler.scale(fooled).backward()
    scaler.step(of_maker)
    scaler.update()
    if step % 30 == 0:
        print(f"{step}: critic {seen.item():.3f} maker {fooled.item():.3f} scale {scaler.get_scale():.0f}")
