"""Rows of a batch beside the samples they were made of: a picture that comes again turned, and a label that is another sample's."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.utils.data import Subset

from premortem.events import LabelsPlaced, PictureTurned
from premortem.probes.loaders import Loaders
from premortem.probes.session import Keys, Session

_KEPT = 24  # samples of one dataset that are looked at when they come again
_AGAIN = 64  # times
_BATCHES = 6  # of a dataset whose labels are looked up
_LARGE = 1 << 16  # numbers of one sample
_SIDE = 8  # of a picture
_PATCH = 4  # rows and columns by which a picture is found again
_CANDIDATES = 64  # places where a patch of a mask may lie
_AS_IT_WAS = "as it was"
_TURNS = (((-1,), "left and right"), ((-2,), "top and bottom"), ((-2, -1), "both ways"))


class BatchRows:
    def __init__(self, session: Session, loaders: Loaders) -> None:
        self.session = session
        self.loaders = loaders
        self._datasets = Keys()
        self._kept: dict[int, dict[int, tuple[torch.Tensor, torch.Tensor]]] = {}
        self._again: dict[int, int] = {}
        self._batches: dict[int, int] = {}

    def install(self) -> None:
        self.loaders.on_batch.append(self.drawn)

    def drawn(self, loader: int, batch: Any, tensors: list[torch.Tensor]) -> None:
        if len(tensors) < 2 or self.session.batch is None:
            return
        # A loader may be built anew for each epoch; it is the dataset that gives a sample again.
        dataset = self._key(self.session.batch.dataset, loader)
        if self._again.get(dataset, 0) >= _AGAIN:
            return
        first, last = tensors[0], tensors[-1]
        if first.device.type != "cpu" or last.device.type != "cpu" or not first.dim() or not last.dim():
            return
        if first.shape[0] != len(self.session.batch) or last.shape[0] != first.shape[0]:
            return
        if _are_pictures(first, last):
            self._pictures(dataset, first, last)
            return
        self._batches[dataset] = self._batches.get(dataset, 0) + 1
        if self._batches[dataset] > _BATCHES:
            self._again[dataset] = _AGAIN  # nothing of this dataset is looked at any more, in rest neither
        elif last.dim() == 1 and not last.is_floating_point():
            self._labels(first, last)

    def _key(self, dataset: Any, loader: int) -> int:
        try:
            return self._datasets.of(dataset)
        except (
            TypeError
        ):  # of a list, which has no weak reference, the loader says whether it is another one by now
            return -loader

    def _gone(self, key: int) -> bool:
        owners = self._datasets if key > 0 else self.session.loaders
        return owners.object(abs(key)) is None

    def _pictures(self, dataset: int, pictures: torch.Tensor, masks: torch.Tensor) -> None:
        known = self.session.batch.samples() if self.session.batch is not None else None
        if known is None:
            return
        if dataset not in self._kept:
            self._kept = {key: rows for key, rows in self._kept.items() if not self._gone(key)}
        kept = self._kept.setdefault(dataset, {})
        if len(kept) >= _KEPT and kept.keys().isdisjoint(known.indices):
            return
        for row, index in enumerate(known.indices):
            before = kept.get(index)
            if before is None:
                if not is_mask_of(masks[row], pictures[row]):
                    self._kept.pop(dataset)
                    self._again[dataset] = _AGAIN  # two pictures: each may be turned as it likes
                    return
                if len(kept) < _KEPT:
                    kept[index] = (pictures[row].clone(), masks[row].clone())
                continue
            self._again[dataset] = self._again.get(dataset, 0) + 1
            turns = turned_by(before[0], pictures[row]), turned_by(before[1], masks[row])
            # Either is as it was, or its mirror image; a mask that is its own mirror image, or empty, says nothing.
            if "" not in turns and set(turns) != {_AS_IT_WAS} and _differs_when_turned(before[1]):
                way = turns[turns[0] == _AS_IT_WAS]
                self.session.emit(PictureTurned(step=self.session.step, way=way, alone=turns[0] != turns[1]))
            elif "" in turns and (apart := _cut_apart(before, (pictures[row], masks[row]))) is not None:
                self.session.emit(PictureTurned(step=self.session.step, way="cut out elsewhere", alone=apart))

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
        # The same labels in another order; others were made of them on the way (5 or more, from 0 on, with noise).
        if sorted(int(item[1]) for item in items) != sorted(labels.tolist()):
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


def is_mask_of(mask: torch.Tensor, picture: torch.Tensor) -> bool:
    """Classes, as a loss wants them: whole numbers, or two numbers where the picture has more. Another picture (a second view, a negative,
    a sample of the other domain) is neither."""
    return not mask.is_floating_point() or (_of_two(mask) and not _of_two(picture))


def _of_two(numbers: torch.Tensor) -> bool:
    low, high = numbers.aminmax()
    return bool(((numbers == low) | (numbers == high)).all())


def turned_by(before: torch.Tensor, now: torch.Tensor) -> str:
    """How a picture was mirrored, number for number; "" where it was changed in any other way."""
    if before.shape != now.shape:
        return ""
    if torch.equal(before, now):
        return _AS_IT_WAS
    return next((way for axes, way in _TURNS if torch.equal(before.flip(axes), now)), "")


def _differs_when_turned(mask: torch.Tensor) -> bool:
    return not any(torch.equal(mask, mask.flip(axes)) for axes, _ in _TURNS)


class Move(NamedTuple):
    """Two pieces of one picture: the second is mirrored along these axes, and lies so many rows and columns further on."""

    axes: tuple[int, ...]
    down: int
    right: int


def _cut_apart(
    before: tuple[torch.Tensor, torch.Tensor], now: tuple[torch.Tensor, torch.Tensor]
) -> bool | None:
    """Whether picture and mask of a sample are cut out at different places, or mirrored differently; None where that is not known."""
    if any(a.shape != b.shape for a, b in zip(before, now, strict=True)):
        return None
    moves = moves_between(before[0], now[0])
    if len(moves) != 1:  # another change, or a picture that is like itself
        return None
    agrees = overlap_agrees(before[1], now[1], moves[0])
    if agrees is not False:
        return agrees if agrees is None else False
    # The mask is a piece of the same mask as well: only then it was cut out too, and not drawn anew.
    return True if moves_between(before[1], now[1]) else None


def moves_between(before: torch.Tensor, now: torch.Tensor) -> list[Move]:
    """The moves after which both agree wherever they overlap, number for number; two are enough to know that it is not clear."""
    found: list[Move] = []
    corner = _telling_corner(before)
    if corner is None:
        return found
    top, left = corner
    patch = _plane(before)[top : top + _PATCH, left : left + _PATCH]
    for axes in ((), *(axes for axes, _ in _TURNS)):
        flipped = now.flip(axes) if axes else now
        windows = _plane(flipped).unfold(0, _PATCH, 1).unfold(1, _PATCH, 1)
        for there in (windows == patch).all(-1).all(-1).nonzero()[:_CANDIDATES].tolist():
            move = Move(axes, there[0] - top, there[1] - left)
            if overlap_agrees(before, now, move):
                found.append(move)
                if len(found) > 1:
                    return found
    return found


def _telling_corner(picture: torch.Tensor) -> tuple[int, int] | None:
    """Where a small patch of a picture differs most from one colour: in its middle, which most pieces of it share."""
    plane = _plane(picture).float()
    height, width = plane.shape
    rows, columns = range(height // 4, 3 * height // 4 - 1), range(width // 4, 3 * width // 4 - 1)
    windows = plane.unfold(0, _PATCH, 1).unfold(1, _PATCH, 1)
    spread = windows.reshape(*windows.shape[:2], -1).std(-1)[
        rows.start : rows.stop, columns.start : columns.stop
    ]
    if not spread.numel() or not float(spread.max()) > 0:
        return None
    best = int(spread.argmax())
    return rows.start + best // spread.shape[1], columns.start + best % spread.shape[1]


def _plane(picture: torch.Tensor) -> torch.Tensor:
    return picture.reshape(-1, *picture.shape[-2:])[0]


def overlap_agrees(before: torch.Tensor, now: torch.Tensor, move: Move) -> bool | None:
    """None where it is one and the same number everywhere, which says nothing."""
    now = now.flip(move.axes) if move.axes else now
    height, width = before.shape[-2:]
    rows, columns = height - abs(move.down), width - abs(move.right)
    if 2 * rows < height or 2 * columns < width:  # too little is left to be sure
        return False
    here = before[..., max(0, -move.down) :, max(0, -move.right) :][..., :rows, :columns]
    there = now[..., max(0, move.down) :, max(0, move.right) :][..., :rows, :columns]
    if not torch.equal(here, there):
        return False
    return True if bool((here != here.reshape(-1)[0]).any()) else None


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
