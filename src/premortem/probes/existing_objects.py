"""Models and optimizers that were built before the probes came: found among all objects, once."""

import gc
import weakref
from typing import Any

from torch import nn
from torch.optim.optimizer import Optimizer

# Optimizers that an earlier trial of this process has built: what went wrong there is not to be found again here. An error that
# the sweep's program keeps, keeps them alive. One that steps all the same is met then.
left_behind: weakref.WeakSet[Optimizer] = weakref.WeakSet()


def existing() -> list[Any]:
    """Whole models, not their parts, and then the optimizers."""
    # `type`, not `isinstance`: asking a stranger's object for its class may run its code.
    objects = [each for each in gc.get_objects() if issubclass(type(each), (nn.Module, Optimizer))]
    modules = [each for each in objects if isinstance(each, nn.Module) and "_modules" in vars(each)]
    parts = {id(part) for module in modules for part in vars(module)["_modules"].values()}
    roots = [
        module for module in modules if id(module) not in parts and any(True for _ in module.parameters())
    ]
    optimizers = [each for each in objects if isinstance(each, Optimizer) and hasattr(each, "param_groups")]
    over = {id(p) for each in left_behind for group in each.param_groups for p in group["params"]}
    return [
        *(each for each in roots if not any(id(p) in over for p in each.parameters())),
        *(each for each in optimizers if each not in left_behind),
    ]
