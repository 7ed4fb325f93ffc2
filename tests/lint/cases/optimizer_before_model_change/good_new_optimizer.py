import torch
import torch.nn as nn


def two_phases(model, loader):
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    model.head = nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
