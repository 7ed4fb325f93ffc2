import torch


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    return [model(x).argmax(1) for x in loader]


@torch.no_grad()
def validate(model, loader):
    model.train(False)
    for x in loader:
        print(model(x))
