# Loss and gradients are finite; the optimizer divides 0 by 0.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.rand(64, 4)
x[24:32] = 0.0
loader = DataLoader(TensorDataset(x, torch.rand(64, 1)), batch_size=8)
model = nn.Sequential(nn.Linear(4, 8, bias=False), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=0.0, betas=(0.0, 0.0))
for _ in range(2):
    for a, b in loader:
        loss = nn.functional.mse_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
