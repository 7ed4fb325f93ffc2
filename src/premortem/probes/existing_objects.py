"""Models and optimizers that were built before the probes came: found among all objects, once."""

import gc
from typing import Any

from torch import nn
from torch.optim.optimizer import Optimizer


def existing() -> list[Any]:
    """Whole models, not their parts, and then the optimizers."""
    # `type`, not `isinstance`: asking a stranger's object for its class may run its code.
    objects = [each for each in gc.get_objects() if issubclass(type(each), (nn.Module, Optimizer))]
    modules = [each for each in objects if isinstance(each, nn.Module) and "_modules" in vars(each)]
    parts = {id(part) for module in modules for part in vars(module)["_modules"].values()}
    roots = [
        module for module in modules if id(module) not in parts and any(True for _ in module.parameters())
    ]
    return [
        *roots,
        *(each for each in objects if isinstance(each, Optimizer) and hasattr(each, "param_groups")),
    ]
