"""`optimizer.step()` is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from premortem.drill.mutants.base import Mutant


class StepDropped(Mutant):
    """`optimizer.step()` is forgotten."""

    name = "step-dropped"
    families = frozenset({"update-order", "optimizer-ownership"})
    needs = "calls no optimizer.step()"

    def over(self) -> None:
        self.stage.on_step(self._forgotten)

    def _forgotten(self, step: Callable[[], Any], optimizer: Any) -> None:
        self.touched += 1
