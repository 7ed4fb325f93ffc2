"""What a model's output is compared with: other samples' labels, one label for all."""

from __future__ import annotations

from typing import Any

from premortem.changes.base import Change, Harm, Learning
from premortem.changes.late import torch

_LABELS = Harm(
    families=frozenset({"data-labels"}),
    needs="compares nothing with labels through the losses of torch.nn.functional",
)


class LabelsShuffled(Change):
    """Labels and samples are shuffled apart from each other."""

    name = "labels-shuffled"
    harm = _LABELS
    learning = Learning(
        title="labels shuffled", question="information", where_stuck=True, where_by_heart=True
    )
    opening = ("targets", f"the script {_LABELS.needs}")

    def put_on(self) -> None:
        draw = torch.Generator().manual_seed(0)

        def shuffled(target: torch.Tensor) -> torch.Tensor:
            if not is_label(target):
                return target
            self.touched += 1
            return target[torch.randperm(len(target), generator=draw).to(target.device)]

        self.reach.on_target(shuffled)


class LabelsConstant(Change):
    """Every sample has the same label."""

    name = "labels-constant"
    harm = _LABELS

    def put_on(self) -> None:
        self._label: torch.Tensor | None = None
        self._drawn = False  # by a loader: then the labels are what it gives last
        self.reach.on_batch(self._batch)
        self.reach.on_target(lambda target: target if self._drawn else self._same(target))

    def _batch(self, batch: Any, iterator: Any) -> Any:
        if isinstance(batch, (list, tuple)) and len(batch) > 1 and isinstance(batch[-1], torch.Tensor):
            self._drawn = True
            self._same(batch[-1])
        return batch

    def _same(self, target: torch.Tensor) -> torch.Tensor:
        if not is_label(target):
            return target
        if self._label is None:
            self._label = target[0].clone()
        if self._label.shape == target[0].shape:
            self.touched += 1
            # Into the labels themselves: it is the data that is wrong, not what the script does with it.
            target.data.copy_(self._label.expand_as(target))
        return target


def is_label(target: torch.Tensor) -> bool:
    """Of several samples, and not something that is trained."""
    return target.grad_fn is None and target.dim() > 0 and len(target) > 1
