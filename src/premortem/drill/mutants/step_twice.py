"""`optimizer.step()` is called twice for each backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from premortem.drill.mutants.base import Mutant


class StepTwice(Mutant):
    """`optimizer.step()` is called twice for each backward pass."""

    name = "step-twice"
    families = frozenset({"update-order", "optimizer-ownership"})
    needs = "calls no optimizer.step()"

    def over(self) -> None:
        self.stage.on_step(self._twice)

    def _twice(self, step: Callable[[], Any], optimizer: Any) -> Any:
        self.touched += 1
        step()
        return step()
