import torch

torch.set_grad_enabled(False)


def evaluate(model, loader):
    model.eval()
    return [model(x).argmax(1) for x in loader]
