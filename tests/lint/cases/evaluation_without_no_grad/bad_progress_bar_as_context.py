import torch
from tqdm import tqdm


def validate(model, val_loader, criterion):
    model.eval()
    total = 0.0
    with tqdm(val_loader, unit="batch") as bar:
        for x, y in bar:  # expect: PM536
            total += criterion(model(x), y).item()
    return total
