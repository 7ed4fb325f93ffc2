"""Parts of one dataset that loaders hand out: which rows they share, and the weights that models have when a pass begins.

for fold, (train, held) in enumerate(splits):
    for x, y in DataLoader(Subset(data, train)): ...   <- a pass over these rows
    for x, y in DataLoader(Subset(data, held)): ...    <- and over those: were they ever trained on, by these weights?
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.utils.data import DataLoader, Subset

from premortem.amounts import length
from premortem.events import PartStarted
from premortem.probes.loaders import Loaders
from premortem.probes.modules import Models
from premortem.probes.session import Keys, Session, sampled

_MOST_ROWS = (
    1 << 16
)  # of a whole dataset: that is a few milliseconds for each loader, and a byte for each row
_MOST_LOADERS = (
    64  # that are looked at: of ten folds with a loader for training and one beside it, and a few more
)
_PASSES = 512  # that are reported
_DEEPEST = 8  # subsets of subsets


class Part(NamedTuple):
    whole: int  # the dataset
    rows: torch.Tensor  # of it: whether each is in the part


class PartsOfData:
    def __init__(self, session: Session, loaders: Loaders, models: Models) -> None:
        self.session = session
        self.loaders = loaders
        self.models = models
        self._datasets = Keys()
        self._parts: list[Part] = []
        self._part_of: dict[int, int | None] = {}  # of each loader: its place among those
        self._shared: dict[tuple[int, int], int] = {}  # rows of two parts
        self._passes = 0

    def install(self) -> None:
        self.loaders.on_start.append(self.started)

    def started(self, key: int, loader: DataLoader[Any]) -> None:
        if key not in self._part_of and len(self._part_of) < _MOST_LOADERS:
            self._part_of[key] = self._place(part_of(loader, self._datasets))
        own = self._part_of.get(key)
        if own is None or self._passes >= _PASSES:
            return
        others = {
            other: self._rows(own, part)
            for other, part in self._part_of.items()
            if part is not None and other != key and self._parts[part].whole == self._parts[own].whole
        }
        if others:
            self._passes += 1
            self.session.emit(
                PartStarted(
                    step=self.session.step,
                    loader=key,
                    rows=self._rows(own, own),
                    shared=others,
                    weights=self._weights(),
                )
            )

    def _place(self, part: Part | None) -> int | None:
        """Loaders that are built anew for each epoch hand out one and the same part."""
        if part is None:
            return None
        for place, known in enumerate(self._parts):
            if known.whole == part.whole and torch.equal(known.rows, part.rows):
                return place
            if self._datasets.object(known.whole) is None:  # nothing will be compared with it any more
                self._parts[place] = known._replace(rows=torch.empty(0, dtype=torch.bool))
        self._parts.append(part)
        return len(self._parts) - 1

    def _rows(self, one: int, other: int) -> int:
        pair = min(one, other), max(one, other)
        if pair not in self._shared:
            self._shared[pair] = int((self._parts[one].rows & self._parts[other].rows).sum())
        return self._shared[pair]

    def _weights(self) -> dict[int, int]:
        """Of each model that was trained: what some numbers of each of its parameters are."""
        found = {}
        for model in self.models.registry.known.values():
            module = model.module()
            if module is None or not model.trained:
                continue
            weights = [p for p in module.parameters() if p.requires_grad]
            if weights and all(p.device.type == "cpu" and type(p.data) is torch.Tensor for p in weights):
                found[model.key] = hash(tuple(x for p in weights for x in sampled(p.detach())))
        return found


def part_of(loader: DataLoader[Any], datasets: Keys) -> Part | None:
    """The rows of a larger dataset that this loader can hand out; None for all of them, and for what has no numbers."""
    whole, listed = loader.dataset, [getattr(loader.sampler, "indices", None)]
    for _ in range(_DEEPEST):
        if not isinstance(whole, Subset):
            break
        listed.append(whole.indices)
        whole = whole.dataset
    lists = [each for each in listed if each is not None]
    size = length(whole)
    if size is None or not 0 < size <= _MOST_ROWS:
        return None
    if not lists or not all(_can_be_read(each, size) for each in lists):
        return None
    try:
        numbers = torch.as_tensor(lists[0])
        for further in lists[1:]:
            numbers = torch.as_tensor(further)[numbers]
        if numbers.dim() != 1 or numbers.is_floating_point():
            return None
        rows = torch.zeros(size, dtype=torch.bool)
        rows[numbers] = True
        return None if bool(rows.all()) else Part(datasets.of(whole), rows)
    except (TypeError, ValueError, IndexError, RuntimeError):  # no numbers; a dataset without weak references
        return None


def _can_be_read(indices: Any, size: int) -> bool:
    """A list of numbers that is here, and no longer than the dataset."""
    rows = length(indices)
    on_device = isinstance(indices, torch.Tensor) and indices.device.type != "cpu"
    return rows is not None and 0 < rows <= size and not on_device
