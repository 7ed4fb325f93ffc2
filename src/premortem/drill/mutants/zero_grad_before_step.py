"""`zero_grad()` stands between `backward()` and `step()`: each step is made without gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from premortem.drill.mutants.base import Mutant


class ZeroGradBeforeStep(Mutant):
    """`zero_grad()` stands between `backward()` and `step()`: each step is made without gradients."""

    name = "zero-grad-before-step"
    families = frozenset({"update-order"})
    needs = "calls no optimizer.step()"

    def over(self) -> None:
        self.stage.on_step(self._cleared)

    def _cleared(self, step: Callable[[], Any], optimizer: Any) -> Any:
        self.touched += 1
        optimizer.zero_grad()
        return step()
