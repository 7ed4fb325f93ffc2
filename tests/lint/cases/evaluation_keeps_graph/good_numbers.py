import torch


def validate(model, val_loader, criterion):
    model.eval()
    total, hits = 0.0, 0
    with torch.no_grad():
        for x, y in val_loader:
            out = model(x)
            total += criterion(out, y).item()
            hits += (out.argmax(1) == y).sum().item()
    return total, hits


def evaluate(model, val_loader, criterion):
    total = 0.0
    with torch.no_grad():
        for x, y in val_loader:
            total += criterion(model(x), y)
    return total
