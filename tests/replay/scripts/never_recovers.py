# From its fourth batch on every step fails: no policy lets it go on.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)
readings = torch.rand(1600, 5) + 0.1
readings[24:, 2] = -1.0
loader = DataLoader(TensorDataset(readings, torch.rand(1600, 1)), batch_size=8)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x, y in loader:
    loss = nn.functional.mse_loss(model(torch.sqrt(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
