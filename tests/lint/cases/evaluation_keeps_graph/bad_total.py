import torch


def validate(model, val_loader, criterion):
    model.eval()
    total = 0.0
    for x, y in val_loader:
        loss = criterion(model(x), y)
        total += loss  # expect: PM557
    return total / len(val_loader)
