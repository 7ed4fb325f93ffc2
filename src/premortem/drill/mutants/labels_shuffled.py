"""Labels and samples are shuffled apart from each other."""

from __future__ import annotations

import torch

from premortem.drill.mutants.base import Mutant


class LabelsShuffled(Mutant):
    """Labels and samples are shuffled apart from each other."""

    name = "labels-shuffled"
    families = frozenset({"data-labels"})
    needs = "compares nothing with labels through the losses of torch.nn.functional"

    def over(self) -> None:
        self._draw = torch.Generator().manual_seed(0)
        self.stage.on_target(self._shuffled)

    def _shuffled(self, target: torch.Tensor) -> torch.Tensor:
        if target.dim() == 0 or len(target) == 1:
            return target
        self.touched += 1
        return target[torch.randperm(len(target), generator=self._draw).to(target.device)]
