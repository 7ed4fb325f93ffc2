from __future__ import annotations

from typing import Any

import torch
from torch.optim import Adam, AdamW, Optimizer

from premortem.points import Subscriptions

_BLOCK = 256  # elements that share one scale
_SMALL = 4096  # elements: below, the state stays in 32 bits


class EightBit:
    """Adam's moments in 8 bits with a scale for each block, as the 8-bit optimizers keep them."""

    name = "8-bit-adam"
    title = "use an 8-bit AdamW (bitsandbytes, torchao)"
    cost = "one more package; slightly coarser updates"

    @staticmethod
    def wanted(result: dict[str, Any]) -> bool:
        return bool({"Adam", "AdamW"} & set(result["optimizers"]))

    @staticmethod
    def apply(points: Subscriptions) -> None:
        for kind in (Adam, AdamW):
            points.replace(kind, "step", _step)


def _step(self: Optimizer, closure: Any = None) -> Any:
    loss = closure() if closure is not None else None
    with torch.no_grad():
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None and not self.state[weight]:
                    self.state[weight] = _state(weight)
    return loss


def _state(weight: torch.Tensor) -> dict[str, torch.Tensor]:
    made = {}
    for name in ("exp_avg", "exp_avg_sq"):
        if weight.numel() < _SMALL:
            made[name] = torch.zeros_like(weight, dtype=torch.float32)
            continue
        made[name] = torch.zeros_like(weight, dtype=torch.uint8)
        made[f"{name} scale"] = weight.new_zeros(-(-weight.numel() // _BLOCK), dtype=torch.float32)
    return made
