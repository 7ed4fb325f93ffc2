import torch


def train(model, loader, optimizer, epochs):
    for epoch in range(epochs):
        if epoch == 0:
            torch.manual_seed(3)
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
