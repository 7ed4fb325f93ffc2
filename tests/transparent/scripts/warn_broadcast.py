"""Warnings are shown with the user's line."""
import torch
import torch.nn.functional as F
from torch import nn
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    loss = F.mse_loss(model(torch.ones(4, 3)), torch.ones(4))
    loss.backward()
    optimizer.step()
nn.L1Loss()(torch.ones(4, 1), torch.ones(4))
nn.SmoothL1Loss()(torch.ones(4, 1), torch.ones(4))
