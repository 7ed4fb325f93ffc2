import torch


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
    return correct


def validate(model, loader):
    model.eval()
    total = 0.0
    for x, y in loader:
        with torch.inference_mode():
            total += model(x, y).item()
    return total
