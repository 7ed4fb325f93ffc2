import torch
import torch.nn as nn


def grow(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.head = nn.Linear(8, 4)
    optimizer.add_param_group({"params": model.head.parameters()})
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
