import torch
from torch import no_grad


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    return [model(x).argmax(1) for x in loader]


@torch.inference_mode()
def predict(model, loader):
    model.eval()
    return [model(x).argmax(1) for x in loader]


@no_grad()
def test(model, test_loader):
    model.eval()
    return [model(x).argmax(1) for x in test_loader]
