import torch


def validate(model, val_loader, scores):
    right = precise = 0.0
    for picture, label in val_loader:
        out = model(picture)
        right += accuracy_of(out, label)
        precise += scores.precision(out, label)
    return right, precise


def accuracy_of(out, label):
    return float(torch.sum(out.argmax(1) == label)) / len(label)
