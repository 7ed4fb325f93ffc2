import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))

    def forward(self, x):
        return self.body(x)


def train(net, train_loader, optimizer):
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


def test(net, test_loader):
    hits = 0
    with torch.no_grad():
        for x, y in test_loader:  # expect: PM537
            hits += (net(x).argmax(1) == y).sum().item()
    return hits


def main(train_loader, test_loader):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        train(net, train_loader, optimizer)
        print(test(net, test_loader))
