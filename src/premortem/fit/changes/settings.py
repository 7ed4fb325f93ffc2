"""Settings of optimizers that the script builds later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.optim import Optimizer

from premortem.points import Subscriptions


def change_settings(points: Subscriptions, change: Callable[[dict[str, Any]], None]) -> None:
    """`change` is given the defaults and each group of every optimizer, once it is built."""
    init = Optimizer.__init__

    def constructed(self: Optimizer, params: Any, defaults: dict[str, Any]) -> None:
        init(self, params, defaults)
        for group in [self.defaults, *self.param_groups]:
            change(group)

    points.replace(Optimizer, "__init__", constructed)
