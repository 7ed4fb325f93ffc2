import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        scores = self.fc(x)
        return F.softmax(scores, dim=1), scores


def split(scores):
    return torch.softmax(scores, 1), scores


def train(loader):
    model = Net()
    criterion = nn.CrossEntropyLoss()
    for x, y in loader:
        probabilities, scores = model(x)
        loss = criterion(probabilities, y)  # expect: PM517
        loss = loss + criterion(scores, y)
        loss.backward()


def train_by_item(loader):
    model = Net()
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out[0], y) + F.cross_entropy(out[1], y)  # expect: PM517
        loss.backward()


def train_with_a_helper(model, loader):
    for x, y in loader:
        probabilities, scores = split(model(x))
        F.cross_entropy(probabilities, y).backward()  # expect: PM517
        F.cross_entropy(scores, y).backward()
