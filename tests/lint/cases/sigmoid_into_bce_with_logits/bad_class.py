import torch
from torch import nn


class Binary(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 1)
        self.act = nn.Sigmoid()

    def forward(self, x):
        return self.act(self.fc(x)).squeeze(-1)


class Run:
    def __init__(self):
        self.net = Binary(32)
        self.criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))

    def step(self, x, y):
        out = self.net(x)
        return self.criterion(out, y.float())  # expect: PM518
