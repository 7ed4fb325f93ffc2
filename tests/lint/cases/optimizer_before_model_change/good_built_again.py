import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)


def wrap(model):
    return nn.DataParallel(model)


def unwrap(model):
    return model.module


def rebuilt(parts, data, kind):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for part in range(parts):
        net = Net()
        if kind == "a":
            optimizer = torch.optim.Adam(net.parameters())
        net(data[part]).sum().backward()
        optimizer.step()


def wrapped(loader):
    model = wrap(Net())
    optimizer = torch.optim.Adam(model.parameters())
    for x in loader:
        raw = unwrap(model)
        model = wrap(raw)
        model(x).sum().backward()
        optimizer.step()
