import math
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts

torch.set_num_threads(1)
torch.manual_seed(55)


def elevation(p):
    x, y = p[:, :1], p[:, 1:]
    ridge = torch.exp(-4 * (y - 0.3 * torch.sin(3 * x)) ** 2)
    return ridge + 0.4 * torch.sin(4 * x) * torch.cos(3 * y) - 0.2 * x


class FourierFeatures(nn.Module):
    def __init__(self, n=16, scale=1.0):
        super().__init__()
        self.register_buffer("freq", torch.randn(2, n) * scale)

    def forward(self, p):
        z = 2 * math.pi * p @ self.freq / 2
        return torch.cat([z.sin(), z.cos(), p], 1)


survey = 2 * torch.rand(3000, 2) - 1
height = elevation(survey) + 0.02 * torch.randn(3000, 1)
grid = torch.cartesian_prod(torch.linspace(-1, 1, 25), torch.linspace(-1, 1, 25))
truth = elevation(grid)

net = nn.Sequential(FourierFeatures(), nn.Linear(34, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
opt = torch.optim.AdamW(net.parameters(), lr=5e-3, weight_decay=1e-4)
sched = CosineAnnealingWarmRestarts(opt, T_0=2, T_mult=2, eta_min=1e-5)  # cycles of 2, 4 and 8 epochs
mse = nn.MSELoss()
BATCH = 75
n_iters = len(survey) // BATCH
for epoch in range(14):
    perm = torch.randperm(len(survey))
    total, lo, hi = 0.0, float("inf"), 0.0
    for i in range(n_iters):
        idx = perm[i * BATCH:(i + 1) * BATCH]
        loss = mse(net(survey[idx]), height[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step(epoch + (i + 1) / n_iters)
        lr = opt.param_groups[0]["lr"]
        lo, hi = min(lo, lr), max(hi, lr)
        total += loss.item()
    with torch.no_grad():
        rmse = mse(net(grid), truth).sqrt().item()
    print(f"epoch {epoch:2d}  train mse {total / n_iters:.5f}  grid rmse {rmse:.4f}  lr {lo:.1e}..{hi:.1e}")
