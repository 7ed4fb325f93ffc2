"""`optimizer.zero_grad()` is forgotten: gradients pile up."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.optim.optimizer import Optimizer

from premortem.drill.mutants.base import Mutant


class ZeroGradDropped(Mutant):
    """`optimizer.zero_grad()` is forgotten: gradients pile up."""

    name = "zero-grad-dropped"
    families = frozenset({"update-order", "accumulation"})
    needs = "calls no zero_grad()"

    def over(self) -> None:
        for owner in (Optimizer, nn.Module):
            self.stage.instead(owner, "zero_grad", self._forgotten)

    def _forgotten(self, original: Any, *args: Any, **kwargs: Any) -> None:
        self.touched += 1
