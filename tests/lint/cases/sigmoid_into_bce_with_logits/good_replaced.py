import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())

    def forward(self, x):
        return self.head(x)


def main(x, y):
    model = Classifier()
    model.head[-1] = nn.Identity()
    criterion = nn.BCEWithLogitsLoss()
    return criterion(model(x), y)
