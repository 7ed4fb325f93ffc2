import inspect

import pytest
import torch
from packaging import version
from torch.optim import Adam
from torch.optim.lr_scheduler import StepLR

OLD = version.parse(torch.__version__) < version.parse("2.7")


def by_version(optimizer):
    if version.parse(torch.__version__) < version.parse("2.7"):
        return StepLR(optimizer, 10, verbose=True)
    return StepLR(optimizer, 10)


def by_trying(optimizer):
    try:
        return StepLR(optimizer, 10, verbose=True)
    except TypeError:
        return StepLR(optimizer, 10)


def by_looking(optimizer):
    if "verbose" in inspect.signature(StepLR).parameters:
        return StepLR(optimizer, 10, verbose=True)
    return StepLR(optimizer, 10)


def by_returning_early(optimizer):
    if torch.__version__ >= "2.7":
        return StepLR(optimizer, 10)
    return StepLR(optimizer, 10, verbose=True)


def hidden(params, Adam):
    return Adam(params, learning_rate=1e-3)


def rebound(optimizer, registry):
    StepLR = registry["StepLR"]
    return StepLR(optimizer, verbose=True)


class Mine:
    def StepLR(self, **kwargs):
        return kwargs

    def use(self):
        return self.StepLR(verbose=True)


def test_it_is_refused(optimizer):
    with pytest.raises(TypeError):
        StepLR(optimizer, 10, verbose=True)
