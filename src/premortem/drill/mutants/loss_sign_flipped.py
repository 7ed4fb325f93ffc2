"""The loss has the wrong sign: training makes the model worse."""

from __future__ import annotations

import torch

from premortem.drill.mutants.base import Mutant


class LossSignFlipped(Mutant):
    """The loss has the wrong sign: training makes the model worse."""

    name = "loss-sign-flipped"
    families = frozenset({"loss-definition", "exploding"})
    needs = "calls no loss.backward()"

    def over(self) -> None:
        self.stage.on_backward(self._flipped)

    def _flipped(self, loss: torch.Tensor) -> torch.Tensor:
        self.touched += 1
        return -loss
