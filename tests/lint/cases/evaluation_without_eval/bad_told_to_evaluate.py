import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1), nn.Linear(4, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self):
        self.iteration(self.data_loader)

    def test(self):
        self.iteration(self.test_loader, train=False)

    def iteration(self, data_loader, train=True):
        for x, y in data_loader:  # expect: PM537
            loss = nn.functional.cross_entropy(self.model(x), y)
            if train:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(loss.item())
