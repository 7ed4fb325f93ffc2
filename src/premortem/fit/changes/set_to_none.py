from __future__ import annotations

from typing import Any

from torch import nn
from torch.optim import Optimizer

from premortem.points import Subscriptions


class SetToNone:
    """Gradients are let go between two steps instead of being filled with zeros."""

    name = "set-to-none"
    title = "call zero_grad() without set_to_none=False, before the forward pass"
    cost = "none"

    @staticmethod
    def wanted(result: dict[str, Any]) -> bool:
        return bool(result["zeroed_in_place"])

    @staticmethod
    def apply(points: Subscriptions) -> None:
        clear, clear_module = Optimizer.zero_grad, nn.Module.zero_grad
        points.replace(Optimizer, "zero_grad", lambda self, set_to_none=True: clear(self, set_to_none=True))
        points.replace(
            nn.Module, "zero_grad", lambda self, set_to_none=True: clear_module(self, set_to_none=True)
        )
