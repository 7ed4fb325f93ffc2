import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, width, classes):
        super(Classifier, self).__init__()
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, classes)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        features = self.body(x)
        logits = self.head(features)
        out = self.softmax(logits)
        return out


class Trainer:
    def __init__(self, loader):
        self.model = Classifier(64, 5)
        self.loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.loader = loader

    def epoch(self, optimizer):
        for x, y in self.loader:
            optimizer.zero_grad()
            pred = self.model(x)
            loss = self.loss_fn(pred, y)  # expect: PM517
            loss.backward()
            optimizer.step()
