import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def train(self, reader, epochs):
        for _epoch in range(epochs):
            self.model.train()
            for x, y in reader.batches():
                self.optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.model(x), y)
                loss.backward()
                self.optimizer.step()
            self.model.eval()
            self.test(reader)

    @torch.no_grad()
    def test(self, reader):
        right = 0
        for number in range(reader.count):
            x, y = reader.batch(number)
            right += (self.model(x).argmax(1) == y).sum().item()
        print(right)


class Detector:
    """The losses of a detector are there in training mode only."""

    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self, loader, val_loader):
        for images, targets in loader:
            self.optimizer.zero_grad()
            sum(self.model(images, targets).values()).backward()
            self.optimizer.step()
        self.validate(val_loader)

    def validate(self, val_loader):
        self.model.train()
        with torch.no_grad():
            for images, targets in val_loader:
                print(sum(self.model(images, targets).values()))
