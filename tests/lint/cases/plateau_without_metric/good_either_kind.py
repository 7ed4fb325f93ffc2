import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau


def train(optimizer, losses, name):
    if name == "plateau":
        scheduler = ReduceLROnPlateau(optimizer)
    else:
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for loss in losses:
        if isinstance(scheduler, ReduceLROnPlateau):
            scheduler.step(loss)
        else:
            scheduler.step()
