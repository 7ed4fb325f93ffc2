import torch
import torchvision
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)
        self.encoder.requires_grad = False  # expect: PM514


def freeze_children(model):
    for child in model.children():
        child.requires_grad = False  # expect: PM514


def freeze_named(model):
    for name, module in model.named_modules():
        if isinstance(module, nn.BatchNorm2d):
            module.requires_grad = False  # expect: PM514


def build():
    backbone = torchvision.models.resnet18(weights="DEFAULT")
    backbone.requires_grad = False  # expect: PM514
    backbone.fc = nn.Linear(512, 2)
    optimizer = torch.optim.SGD(backbone.parameters(), lr=0.1)
    return backbone, optimizer


def gan(discriminator, generator, z):
    discriminator.requires_grad = False  # expect: PM514
    discriminator.eval()
    return discriminator(generator(z))


def freeze_norms(layer):
    if isinstance(layer, (nn.BatchNorm2d, nn.LayerNorm)):
        layer.requires_grad = False  # expect: PM514
