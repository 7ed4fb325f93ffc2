import torch


def evaluate(model, loader):
    model.eval()
    model.requires_grad_(False)
    return [model(x).argmax(1) for x in loader]


def validate(model, loader):
    model.eval()
    for p in model.parameters():
        p.requires_grad = False
    for x in loader:
        print(model(x))
