import torch
from torch.autograd import Variable


def train(model, loader, criterion, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x).argmax(1), y)
        loss = Variable(loss, requires_grad=True)  # expect: PM553
        loss.backward()
        optimizer.step()
