# Batches by random indices, noise and dropout: everything depends on the generators.
import random

import numpy as np
import torch
from torch import nn

torch.manual_seed(1)
np.random.seed(1)
random.seed(1)
inputs = torch.randn(300, 8)
inputs[17] = 90.0
targets = torch.randn(300, 1)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for step in range(60):
    index = torch.randint(0, 300, (24,))
    x = inputs[index] + 0.01 * torch.randn(24, 8)
    if random.random() < 0.5:
        x = x * float(np.random.uniform(0.9, 1.1))
    energy = torch.exp(model(x) + x.sum(dim=1, keepdim=True) / 4)
    loss = nn.functional.mse_loss(energy / (1 + energy), targets[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
