"""The accuracy of a pass over a loader, counted again: what the script prints afterwards can be held against it.

for x, y in loader: model(x)     <- without gradients; the labels that came with x are compared with its largest score
print(correct / seen)            <- of the whole pass, of its last batch, or divided by something else?
"""

from __future__ import annotations

from typing import Any

import torch

from premortem.events import Forward, ScoreRecounted
from premortem.probes.loaders import Loaders
from premortem.probes.modules import Models
from premortem.probes.session import Session

_PASSES = 6  # that are counted: enough for a pattern
_MOST = 1 << 22  # scores of one batch
_BATCHES = 4096  # of one pass


class RecountedScores:
    def __init__(self, session: Session, loaders: Loaders, models: Models) -> None:
        self.session = session
        self.loaders = loaders
        self.models = models
        self._passes: dict[int, int] = {}  # counted ones, of each loader
        self._labels: tuple[int, torch.Tensor] | None = None  # of a batch that no model has answered yet
        self._counts: dict[int, list[tuple[int, int]]] = {}  # right and all, batch by batch

    def install(self) -> None:
        self.loaders.on_start.append(self.started)
        self.loaders.on_batch.append(self.drawn)
        self.loaders.on_end.append(self.ended)
        self.models.on_evaluated.append(self.answered)

    def started(self, loader: int, _: Any) -> None:
        self._counts.pop(loader, None)
        if self._passes.get(loader, 0) < _PASSES:
            self._counts[loader] = []

    def drawn(self, loader: int, batch: Any, tensors: list[torch.Tensor]) -> None:
        before, self._labels = self._labels, None
        if (
            before is not None and before[0] == loader
        ):  # no model answered without gradients: it is trained on
            self._counts.pop(loader, None)
        if loader not in self._counts:
            return
        whole = [t for t in tensors if t.dtype == torch.int64 and t.is_cpu and t.dim()]
        if len(whole) == 1 and whole[0] is not tensors[0]:
            self._labels = (loader, whole[0])

    def answered(self, event: Forward, result: Any) -> None:
        labels, self._labels = self._labels, None
        if labels is None or type(result) is not torch.Tensor or not result.is_floating_point():
            return
        loader, wanted = labels
        classes = result.shape[1] if result.dim() > 1 else 0
        fits = classes > 1 and result.shape[:1] + result.shape[2:] == wanted.shape and result.numel() <= _MOST
        counts = self._counts.get(loader)
        if fits and result.is_cpu and counts is not None and len(counts) < _BATCHES:
            counts.append((int((result.argmax(1) == wanted).sum()), wanted.numel()))

    def ended(self, loader: int, batches: int) -> None:
        counts = self._counts.pop(loader, None)
        if counts and len(counts) == batches > 1:
            self._passes[loader] = self._passes.get(loader, 0) + 1
            self.session.emit(
                ScoreRecounted(
                    step=self.session.step,
                    loader=loader,
                    right=sum(right for right, _ in counts),
                    of=sum(of for _, of in counts),
                    batches=batches,
                    last=counts[-1],
                )
            )
