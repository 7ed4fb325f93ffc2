"""Types, names in modules, and attributes of classes."""
import types
import torch
import torch.nn.functional as F
from torch import nn
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
print(isinstance(F.dropout, types.FunctionType), isinstance(torch.save, types.FunctionType), isinstance(nn.Module.__call__, types.FunctionType))
print(sorted(vars(model)), sorted(vars(optimizer)), sorted(optimizer.state_dict()), sorted(optimizer.defaults))
print(sorted(name for name in dir(torch) if "premortem" in name.lower()), type(model).__mro__, type(optimizer).__mro__)
print([name for name in dir(nn.Module) if not name.startswith("_")] == sorted(name for name in dir(nn.Module) if not name.startswith("_")))
print("step" in vars(torch.optim.SGD), "__init__" in vars(torch.optim.SGD), "backward" in vars(torch.Tensor))
print(model, optimizer)
