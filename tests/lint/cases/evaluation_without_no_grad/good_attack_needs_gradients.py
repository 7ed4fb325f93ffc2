import torch


def robustness(model, attack, test_loader):
    model.eval()
    hits = 0
    for x, y in test_loader:
        x = attack(x, y)
        hits += (model(x).argmax(1) == y).sum().item()
    return hits
