import torch


def evaluate(model, loader):
    model.eval()
    total = 0.0
    for x, y in loader:
        total += model(x, y).item()
    return total


def main(model, loader):
    with torch.no_grad():
        print(evaluate(model, loader))
