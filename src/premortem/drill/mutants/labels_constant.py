"""Every sample has the same label."""

from __future__ import annotations

import torch

from premortem.drill.mutants.base import Mutant


class LabelsConstant(Mutant):
    """Every sample has the same label."""

    name = "labels-constant"
    families = frozenset({"data-labels"})
    needs = "compares nothing with labels through the losses of torch.nn.functional"

    def over(self) -> None:
        self._label: torch.Tensor | None = None
        self.stage.on_target(self._same)

    def _same(self, target: torch.Tensor) -> torch.Tensor:
        if target.dim() == 0 or len(target) == 1:
            return target
        if self._label is None:
            self._label = target[0].clone()
        if self._label.shape == target[0].shape:
            self.touched += 1
            # Into the labels themselves: it is the data that is wrong, not what the script does with it.
            target.data.copy_(self._label.expand_as(target))
        return target
