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


def either(model, loader, optimizer, version):
    for x in loader:
        loss = model(x)
        loss.backward()
        optimizer.step()
        if int(version[0]) > 0:
            print(loss.item())
        else:
            print(loss.data[0])


def harmless(model, loader):
    with torch.no_grad():
        return [model(Variable(x, volatile=True)) for x in loader]
