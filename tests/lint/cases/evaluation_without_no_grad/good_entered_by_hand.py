import contextlib

import torch


def evaluate(net, loader):
    guard = torch.no_grad()
    guard.__enter__()
    return [net(x).argmax(1) for x in loader]


def predict(net, loader):
    torch.no_grad().__enter__()
    return [net(x).argmax(1) for x in loader]


def infer(net, loader):
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        return [net(x).argmax(1) for x in loader]
