import torch
from torch import nn


class Config:
    def __init__(self, require_grad):
        self.require_grad = require_grad


class Layer(nn.Module):
    def __init__(self, require_grad=True):
        super().__init__()
        self.require_grad = require_grad
        self.weight = nn.Parameter(torch.zeros(3), requires_grad=require_grad)


def freeze(model):
    for p in model.parameters():
        p.requires_grad = False
    for p in model.head.parameters():
        p.requires_grad_(True)


def freeze_flag(args):
    args.require_grad = False
    return args


def config(cfg):
    cfg.model.require_grad = True
    require_grad = True
    return require_grad


def freeze_layer(layer: Layer):
    # Declared by the class above, so it is no typo.
    layer.require_grad = False


def tf_variable(variable):
    variable.trainable = False
