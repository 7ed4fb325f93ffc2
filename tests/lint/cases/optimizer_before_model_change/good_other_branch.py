import torch
from torch import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)


def build(kind, loader):
    if kind == "a":
        model = Small()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    else:
        model = Small()
        optimizer = torch.optim.Adam(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
