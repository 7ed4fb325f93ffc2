import torch


def train(model, loader, optimizer):
    """Frozen features: batch normalisation keeps the statistics of the pretraining."""
    model.eval()
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        return [model(x) for x in loader]


def main(model, loader, val_loader, optimizer):
    for epoch in range(10):
        train(model, loader, optimizer)
        validate(model, val_loader)
