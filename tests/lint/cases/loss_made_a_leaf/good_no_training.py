import torch


def gradient_of(value):
    x = torch.tensor(value, requires_grad=True)
    x.backward()
    return x.grad
