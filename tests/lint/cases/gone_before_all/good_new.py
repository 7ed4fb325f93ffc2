import torch
from torch.autograd import Variable


def train(model, loader, optimizer, table):
    for x, y in loader:
        x = Variable(x)
        first = table.data[0]
        loss = model(x, y, first)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.data)
