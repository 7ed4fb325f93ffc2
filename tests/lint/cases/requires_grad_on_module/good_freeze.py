import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)
        self.scale = nn.Parameter(torch.ones(1))
        self.encoder.requires_grad_(False)
        self.encoder.weight.requires_grad = False
        self.scale.requires_grad = False


def freeze(model):
    for p in model.parameters():
        p.requires_grad = False
    for name, p in model.named_parameters():
        p.requires_grad = "head" in name


def image(model, x):
    x.requires_grad = True
    model.eval()
    return torch.autograd.grad(model(x).sum(), x)


def generic(item):
    item.requires_grad = False


class Flag(nn.Module):
    def __init__(self, requires_grad):
        super().__init__()
        self.requires_grad = requires_grad
        if not requires_grad:
            for p in self.parameters():
                p.requires_grad = False


def freeze_flagged(flag: Flag):
    flag.requires_grad = False


def buffers(model):
    for b in model.buffers():
        b.requires_grad = False


def latent(generator):
    z = torch.randn(1, 512)
    z.requires_grad = True
    return generator(z)


class Encoder(nn.Module):
    def __init__(self, freeze):
        super().__init__()
        self.model = nn.Linear(8, 8)
        if freeze:
            self.model.requires_grad = False  # of no use, but the parameters follow
        for param in self.model.parameters():
            param.requires_grad = not freeze


def either(model):
    if torch.is_tensor(model):
        model.requires_grad = False
    else:
        model.zero_grad()
