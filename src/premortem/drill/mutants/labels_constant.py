"""Every sample has the same label."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from premortem.drill.mutants.base import Mutant
from premortem.points import UNDER


class LabelsConstant(Mutant):
    """Every sample has the same label."""

    name = "labels-constant"
    families = frozenset({"data-labels"})
    needs = "compares nothing with labels through the losses of torch.nn.functional"

    _label: torch.Tensor | None = None
    _drawn = False  # by a loader: then the labels are what it gives last

    def under(self) -> None:
        def make(original: Any) -> Any:
            def __next__(iterator: Any) -> Any:  # noqa: N807
                batch = original(iterator)
                if (
                    isinstance(batch, (list, tuple))
                    and len(batch) > 1
                    and isinstance(batch[-1], torch.Tensor)
                ):
                    self._drawn = True
                    self._same(batch[-1])
                return batch

            return __next__

        self.stage.points.add(_BaseDataLoaderIter, "__next__", make, order=UNDER)

    def over(self) -> None:
        self.stage.on_target(lambda target: target if self._drawn else self._same(target))

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
