import torch


def train(model, loader):
    optimizer = torch.optim.Adam(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
