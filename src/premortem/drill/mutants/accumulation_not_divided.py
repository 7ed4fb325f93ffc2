"""The loss of a micro-batch is not divided by the number of micro-batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from premortem.drill.mutants.base import Mutant


class AccumulationNotDivided(Mutant):
    """The loss of a micro-batch is not divided by the number of micro-batches."""

    name = "accumulation-not-divided"
    families = frozenset({"accumulation"})
    needs = "divides no loss by a number of backward passes"

    def over(self) -> None:
        self._passes = self._window = 0
        for name in ("__truediv__", "__itruediv__", "div"):
            self.stage.instead(torch.Tensor, name, self._divided)
        self.stage.on_backward(self._counted)
        self.stage.on_step(self._stepped)

    def _divided(self, original: Any, tensor: torch.Tensor, by: Any, *args: Any, **kwargs: Any) -> Any:
        scalar = tensor.dim() == 0 and tensor.requires_grad
        if not scalar or self._window <= 1 or not isinstance(by, (int, float)) or by != self._window:
            return original(tensor, by, *args, **kwargs)
        self.touched += 1
        return tensor

    def _counted(self, loss: torch.Tensor) -> torch.Tensor:
        self._passes += 1
        return loss

    def _stepped(self, step: Callable[[], Any], optimizer: Any) -> Any:
        self._window, self._passes = self._passes, 0
        return step()
