import torch


def validate(model, val_loader, crit):
    model.eval()
    total = 0
    for x, y in val_loader:
        total += crit(model(x), y)  # expect: PM557
    return total, torch.__version__
