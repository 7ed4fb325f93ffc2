"""Rows of a batch beside the samples they were made of: a picture that comes again turned, and a label that is another sample's."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import Subset

from premortem.events import LabelsPlaced, PictureTurned
from premortem.probes.loaders import Loaders
from premortem.probes.session import Session

_KEPT = 24  # samples of one loader that are looked at when they come again
_AGAIN = 64  # times
_BATCHES = 6  # of a loader whose labels are looked up
_LARGE = 1 << 16  # numbers of one sample
_SIDE = 8  # of a picture
_TURNS = (((-1,), "left and right"), ((-2,), "top and bottom"), ((-2, -1), "both ways"))


class BatchRows:
    def __init__(self, session: Session, loaders: Loaders) -> None:
        self.session = session
        self.loaders = loaders
        self._kept: dict[int, dict[int, tuple[torch.Tensor, torch.Tensor]]] = {}
        self._again: dict[int, int] = {}
        self._batches: dict[int, int] = {}

    def install(self) -> None:
        self.loaders.on_batch.append(self.drawn)

    def drawn(self, loader: int, batch: Any, tensors: list[torch.Tensor]) -> None:
        if len(tensors) < 2 or self.session.batch is None or self._again.get(loader, 0) >= _AGAIN:
            return
        first, last = tensors[0], tensors[-1]
        if first.device.type != "cpu" or last.device.type != "cpu" or not first.dim() or not last.dim():
            return
        if first.shape[0] != len(self.session.batch) or last.shape[0] != first.shape[0]:
            return
        if _are_pictures(first, last):
            self._pictures(loader, first, last)
        elif last.dim() == 1 and not last.is_floating_point() and self._batches.get(loader, 0) < _BATCHES:
            self._batches[loader] = self._batches.get(loader, 0) + 1
            self._labels(first, last)

    def _pictures(self, loader: int, pictures: torch.Tensor, masks: torch.Tensor) -> None:
        known = self.session.batch.samples() if self.session.batch is not None else None
        if known is None:
            return
        kept = self._kept.setdefault(loader, {})
        for row, index in enumerate(known.indices):
            before = kept.get(index)
            if before is None:
                if len(kept) < _KEPT:
                    kept[index] = (pictures[row].clone(), masks[row].clone())
                continue
            self._again[loader] = self._again.get(loader, 0) + 1
            turned = turned_by(before[0], pictures[row])
            same = torch.equal(before[1], masks[row])
            # A mask that is its own mirror image, or empty, says nothing.
            telling = turned is not None and not torch.equal(before[1], before[1].flip(turned[0]))
            if turned is not None and telling:
                self.session.emit(PictureTurned(step=self.session.step, way=turned[1], alone=same))

    def _labels(self, first: torch.Tensor, labels: torch.Tensor) -> None:
        """Samples that lie in a list as (numbers, label): each row of the batch is one of them, filled up perhaps."""
        batch = self.session.batch
        dataset, known = (
            batch.dataset if batch is not None else None,
            batch.samples() if batch is not None else None,
        )
        while isinstance(dataset, Subset):
            dataset = dataset.dataset
        if type(dataset) is not list or known is None or first.dim() < 2 or first[0].numel() > _LARGE:
            return
        items = [dataset[index] for index in known.indices]
        if not all(_is_pair(item) for item in items):
            return
        found = wrong = 0
        for row, label in zip(first, labels.tolist(), strict=True):
            own = [int(item[1]) for item in items if _begins_with(row, item[0])]
            if len(own) == 1:
                found += 1
                wrong += own[0] != label
        self.session.emit(LabelsPlaced(step=self.session.step, rows=found, wrong=wrong))


def _are_pictures(first: torch.Tensor, last: torch.Tensor) -> bool:
    return (
        first.dim() == 4
        and first.is_floating_point()
        and last.dim() in (3, 4)
        and last.shape[-2:] == first.shape[-2:]
        and min(first.shape[-2:]) >= _SIDE
        and first[0].numel() <= _LARGE
    )


def turned_by(before: torch.Tensor, now: torch.Tensor) -> tuple[tuple[int, ...], str] | None:
    """How a picture was mirrored, number for number; None where it was not."""
    if before.shape != now.shape or torch.equal(before, now):
        return None
    return next((each for each in _TURNS if torch.equal(before.flip(each[0]), now)), None)


def _is_pair(item: Any) -> bool:
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        return False
    first, label = item
    plain = isinstance(first, torch.Tensor) and first.dim() == 1 and first.numel() > 2
    return plain and (isinstance(label, int) or (isinstance(label, torch.Tensor) and label.numel() == 1))


def _begins_with(row: torch.Tensor, numbers: torch.Tensor) -> bool:
    """The row is these numbers, and one and the same number behind them."""
    size = len(numbers)
    if row.dim() != 1 or len(row) < size or not torch.equal(row[:size], numbers.to(row.dtype)):
        return False
    return bool((row[size:] == row[size : size + 1]).all()) if len(row) > size else True
