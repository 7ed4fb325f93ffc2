from functools import partial

from mine import Mixin, partially
from torch import nn
from torch.optim.lr_scheduler import LRScheduler, StepLR, _LRScheduler

make = partial(StepLR, step_size=3, gamma=0.5)
other = partially(StepLR, verbose=True)
act = partial(nn.LeakyReLU, negative_slope=0.1)


class Warmup(_LRScheduler):
    def __init__(self, optimizer, last_epoch=-1):
        super().__init__(optimizer, last_epoch)


class Both(Mixin, LRScheduler):
    def __init__(self, optimizer):
        super().__init__(optimizer, verbose=True)  # Mixin may take it


class Base(nn.Module):
    def __init__(self, **kwargs):
        super().__init__()


class Own(Base):
    def __init__(self):
        super().__init__(width=3)


def build(optimizer, rest):
    return StepLR(optimizer, 10, 0.1, -1), StepLR(optimizer, *rest)
