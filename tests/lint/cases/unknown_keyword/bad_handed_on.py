from functools import partial

from torch import nn
from torch.optim.lr_scheduler import LRScheduler, StepLR, _LRScheduler

make = partial(StepLR, step_size=3, verbose=True)  # expect: PM580
act = partial(nn.LeakyReLU, slope=0.1)  # expect: PM580


class Warmup(_LRScheduler):
    def __init__(self, optimizer, steps, last_epoch=-1, verbose=False):
        self.steps = steps
        super().__init__(optimizer, last_epoch, verbose)  # expect: PM580


class Cooldown(LRScheduler):
    def __init__(self, optimizer, last_epoch=-1, verbose=False):
        super(Cooldown, self).__init__(optimizer, last_epoch=last_epoch, verbose=verbose)  # expect: PM580


class Norm(nn.BatchNorm2d):
    def __init__(self, channels):
        super().__init__(channels, epsilon=1e-3)  # expect: PM580


def build(optimizer):
    return StepLR(optimizer, 10, 0.1, -1, True)  # expect: PM580
