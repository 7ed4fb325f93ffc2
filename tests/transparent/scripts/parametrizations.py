"""Parametrized, weight-normed and spectrally normed layers; parameters shared and frozen."""
import torch
from torch import nn
from torch.nn.utils import parametrizations
torch.manual_seed(0)
model = nn.Sequential(parametrizations.weight_norm(nn.Linear(3, 3)), parametrizations.spectral_norm(nn.Linear(3, 3)), nn.Linear(3, 1))
model[2].weight.requires_grad_(False)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    loss = model(torch.randn(2, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(sorted(model.state_dict()))
