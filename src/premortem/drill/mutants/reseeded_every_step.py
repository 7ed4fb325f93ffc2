"""`torch.manual_seed(0)` stands in the training loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from premortem.drill.mutants.base import Mutant


class ReseededEveryStep(Mutant):
    """`torch.manual_seed(0)` stands in the training loop."""

    name = "reseeded-every-step"
    families = frozenset({"data-order", "data-augment"})
    needs = "calls no optimizer.step()"

    def over(self) -> None:
        self.stage.on_step(self._seeded)

    def _seeded(self, step: Callable[[], Any], optimizer: Any) -> Any:
        self.touched += 1
        result = step()
        torch.manual_seed(0)
        return result
