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
    needs = "accumulates no gradients"

    def over(self) -> None:
        self._passes = self._window = 0
        self.stage.on_backward(self._whole)
        self.stage.on_step(self._stepped)

    def _whole(self, loss: torch.Tensor) -> torch.Tensor:
        self._passes += 1
        if self._window <= 1:
            return loss
        self.touched += 1
        return loss * self._window

    def _stepped(self, step: Callable[[], Any], optimizer: Any) -> Any:
        self._window, self._passes = self._passes, 0
        return step()
