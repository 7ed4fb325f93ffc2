import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def train(self, reader, epochs):
        self.model.train()
        for epoch in range(epochs):
            for x, y in reader.batches():
                self.optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.model(x), y)
                loss.backward()
                self.optimizer.step()
            if epoch % 5 == 4:
                self.test(reader)
        self.model.eval()

    @torch.no_grad()
    def test(self, reader):
        right = 0
        for number in range(reader.count):  # expect: PM537
            x, y = reader.batch(number)
            right += (self.model(x).argmax(1) == y).sum().item()
        print(right)
