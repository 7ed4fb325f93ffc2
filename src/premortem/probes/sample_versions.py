"""The same sample in two passes: whether an augmentation changes it, and how much of it stays."""

from collections.abc import Sequence
from typing import Any

import torch

from premortem.probes.rows import as_array, usable
from premortem.profile.facts import Versions
from premortem.profile.versions import compared

_SAMPLES = 64  # whose first version is kept,
_NUMBERS = 256  # so many numbers of each


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
        return compared(self._pairs, self._relabelled)
