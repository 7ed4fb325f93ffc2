import torch


def train(model, loader):
    for x in loader:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
