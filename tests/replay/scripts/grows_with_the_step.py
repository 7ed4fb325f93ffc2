# The weight of a term grows with the step: the fault needs its place in the loop.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
loader = DataLoader(TensorDataset(torch.rand(64, 4), torch.rand(64, 1)), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in range(3):
    for x, y in loader:
        step += 1
        fit = nn.functional.mse_loss(model(x), y)
        penalty = torch.exp(torch.tensor(8.0 * step)) * sum(p.abs().sum() for p in model.parameters())
        loss = fit + 1e-38 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
