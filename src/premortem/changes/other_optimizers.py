"""Optimizers that keep less: Adam with moments in 8 bits, Adafactor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from premortem.changes.base import Change, Memory, RunDescription
from premortem.changes.late import torch

_BLOCK = 256  # elements that share one scale
_SMALL = 4096  # elements: below, the state stays in 32 bits
_ADAMS = ("Adam", "AdamW")
_USES_ADAM = ("uses_adam", "the script does not use Adam")


class EightBit(Change):
    """Adam's moments in 8 bits with a scale for each block, as the 8-bit optimizers keep them.

    Only what it keeps is real: weights are not updated.
    """

    name = "8-bit-adam"
    opening = _USES_ADAM
    memory = Memory(
        title="use an 8-bit AdamW (bitsandbytes, torchao)", cost="one more package; slightly coarser updates"
    )

    def put_on(self) -> None:
        self.reach.around_update(self._kept_small)

    @contextmanager
    def _kept_small(self, optimizer: Any) -> Iterator[None]:
        if type(optimizer).__name__ not in _ADAMS:
            yield
            return
        held = [weight for group in optimizer.param_groups for weight in group["params"]]
        gradients = [(weight, weight.grad) for weight in held if weight.grad is not None]
        with torch.no_grad():
            for weight, _ in gradients:
                if not optimizer.state[weight]:
                    optimizer.state[weight] = _state(weight)
                    self.touched += 1
                weight.grad = None  # without one there is nothing to update
        try:
            yield
        finally:
            for weight, gradient in gradients:
                weight.grad = gradient


def _state(weight: torch.Tensor) -> dict[str, torch.Tensor]:
    made = {}
    for name in ("exp_avg", "exp_avg_sq"):
        if weight.numel() < _SMALL:
            made[name] = torch.zeros_like(weight, dtype=torch.float32)
            continue
        made[name] = torch.zeros_like(weight, dtype=torch.uint8)
        made[f"{name} scale"] = weight.new_zeros(-(-weight.numel() // _BLOCK), dtype=torch.float32)
    return made


class Adafactor(Change):
    """The second moment of a matrix is kept as one row and one column."""

    name = "adafactor"
    opening = _USES_ADAM
    memory = Memory(
        title="use torch.optim.Adafactor instead of Adam",
        cost="another optimizer: the learning rate has to be found again",
    )

    @classmethod
    def prevented(cls, run: RunDescription) -> str:
        return "" if hasattr(torch.optim, "Adafactor") else "this version of torch has no Adafactor"

    def put_on(self) -> None:
        def instead(params: Any, lr: Any = 1e-3, *_: Any, weight_decay: float = 0.0, **__: Any) -> Any:
            self.touched += 1
            return torch.optim.Adafactor(params, lr=float(lr), weight_decay=weight_decay)

        for name in _ADAMS:
            self.reach.points.replace(torch.optim, name, instead)
