import torch
import torch.nn as nn
import torch.nn.functional as F


def called(output, target):
    return nn.MSELoss()(output, target)


def function(output, target):
    return F.mse_loss(output, target)


def weighted(class_weights):
    return nn.CrossEntropyLoss(class_weights)


def old_options(weight):
    return nn.CrossEntropyLoss(weight, True)


def old_options_by_name(weight, size_average):
    return nn.CrossEntropyLoss(weight, size_average)


def old_flags():
    return nn.MSELoss(True, False)


def passed_on(args):
    return nn.BCELoss(*args)


def smooth(reduction, beta):
    return nn.SmoothL1Loss(None, None, reduction, beta)


class MSELoss(nn.Module):
    def forward(self, output, target):
        return ((output - target) ** 2).mean()


def own(output, target):
    return MSELoss(output, target)
