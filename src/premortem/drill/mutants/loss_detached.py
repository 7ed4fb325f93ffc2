"""The loss is detached, and `requires_grad` was set to quieten the error."""

from __future__ import annotations

import torch

from premortem.drill.mutants.base import Mutant


class LossDetached(Mutant):
    """The loss is detached, and `requires_grad` was set to quieten the error."""

    name = "loss-detached"
    families = frozenset({"grad-flow"})
    needs = "calls no loss.backward()"

    def over(self) -> None:
        self.stage.on_backward(self._cut)

    def _cut(self, loss: torch.Tensor) -> torch.Tensor:
        self.touched += 1
        return loss.detach().requires_grad_()
