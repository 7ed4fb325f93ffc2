import torch


def validate(model, val_loader, scores, criterion):
    right = precise = total = 0.0
    for picture, label in val_loader:
        out = model(picture)
        right += accuracy_of(out, label)
        precise += scores.precision(out, label)
        total += criterion(out, label)  # expect: PM557
    return right, precise, total


def accuracy_of(out, label):
    return float(torch.sum(out.argmax(1) == label)) / len(label)
