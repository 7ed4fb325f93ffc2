"""Tide levels in half precision: a fused optimizer unscales the gradients itself, and leaves out the steps that overflow."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
t = torch.rand(1024, 1) * 12
x = torch.cat([torch.sin(t * k) for k in (0.5, 1.0, 2.0)] + [torch.cos(t * k) for k in (0.5, 1.0, 2.0)], dim=1)
y = 0.8 * torch.sin(2 * math.pi * t / 12.4) + 0.3 * torch.sin(2 * math.pi * t / 12.0)
train, held = TensorDataset(x[:896], y[:896]), (x[896:], y[896:])

model = nn.Sequential(nn.Linear(6, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**30, growth_interval=40)

for epoch in range(8):
    model.train()
    total = 0.0
    for features, level in DataLoader(train, batch_size=64, shuffle=True):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.mse_loss(model(features), level)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        error = F.mse_loss(model(held[0]), held[1]).item()
    print(f"epoch {epoch}: train {total / 14:.4f} val {error:.4f} scale {scaler.get_scale():.0f}")
