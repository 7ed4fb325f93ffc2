import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 100)
        self.fc2 = nn.Linear(100, 10)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def train(net, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


def test(net, loader):
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (net(x).argmax(1) == y).sum().item()
    return hits


def main(loader, test_loader):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    train(net, loader, optimizer)
    print(test(net, test_loader))
