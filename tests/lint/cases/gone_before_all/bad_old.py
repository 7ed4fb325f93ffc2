import torch
from torch.autograd import Variable


def train(model, loader, optimizer):
    for x, y in loader:
        x = Variable(x, volatile=True)  # expect: PM586
        loss = model(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.data[0])  # expect: PM586
