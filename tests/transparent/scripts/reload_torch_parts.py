"""importlib.reload of a part of torch's that is covered."""
import importlib
import torch
import torch.nn.functional
model = torch.nn.Linear(2, 1)
importlib.reload(torch.nn.functional)
model(torch.ones(1, 2)).sum().backward()
print(torch.nn.functional.mse_loss(torch.ones(1), torch.zeros(1)).item())
