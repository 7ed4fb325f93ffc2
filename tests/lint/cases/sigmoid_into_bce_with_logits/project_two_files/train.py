import torch
from torch import nn

from nets import Critic, Plain


def fit(model, loader, criterion):
    for x, y in loader:
        outputs = model(x)
        loss = criterion(outputs, y)  # expect: PM518
        loss.backward()


def main(loader):
    model = Critic().to("cuda")
    criterion = nn.BCEWithLogitsLoss()
    fit(model, loader, criterion)


def plain(loader):
    model = Plain()
    criterion = nn.BCEWithLogitsLoss()
    for x, y in loader:
        criterion(model(x), y).backward()
