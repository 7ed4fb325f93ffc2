"""The same sample in two passes: whether an augmentation changes it, and how much of it stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from premortem.probes.rows import as_array, usable
from premortem.profile.facts import Versions

_SAMPLES = 64  # whose first version is kept,
_NUMBERS = 256  # so many numbers of each
_FEWEST = 16  # of which a likeness is computed


class SampleVersions:
    """Of one loader in one phase."""

    def __init__(self) -> None:
        self._first: dict[int, tuple[Any, float | None]] = {}  # by the number of the sample
        self._pairs: list[tuple[Any, Any]] = []  # both versions
        self._done: set[int] = set()
        self._relabelled = 0

    def look(self, numbers: Sequence[int], seen: torch.Tensor, labels: Sequence[float] | None) -> None:
        full = len(self._first) >= _SAMPLES
        if len(numbers) != len(seen) or len(self._done) >= _SAMPLES or not usable(seen):
            return
        rows = [row for row, number in enumerate(numbers) if (number in self._first) or not full][:_SAMPLES]
        if not rows:
            return
        flat = seen.detach().reshape(len(seen), -1)
        flat = flat[rows][:, :: max(1, flat.shape[1] // _NUMBERS)][:, :_NUMBERS]
        for row, values in zip(rows, as_array(flat).astype("float64"), strict=True):
            number, label = numbers[row], labels[row] if labels is not None else None
            known = self._first.get(number)
            if known is None:
                if len(self._first) < _SAMPLES:
                    self._first[number] = (values, label)
            elif number not in self._done:
                self._done.add(number)
                self._pairs.append((known[0], values))
                self._relabelled += label != known[1]

    def told(self) -> Versions | None:
        if len(self._pairs) < _FEWEST:
            return None
        import numpy as np

        one, two = (np.stack(side) for side in zip(*self._pairs, strict=True))
        changed = int((one != two).any(1).sum())
        # What all samples have in common says nothing about the likeness of two.
        one, two = one - one.mean(0), two - two.mean(0)
        sizes = np.sqrt((one**2).sum(1) * (two**2).sum(1))
        alike = (one * two).sum(1) / np.where(sizes > 0, sizes, 1.0)
        return Versions(len(self._pairs), changed, self._relabelled, float(alike.mean()))
