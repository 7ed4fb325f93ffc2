"""How much of an endless series is kept: all of its beginning, then fewer and fewer."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

_SERIES = 64  # names come from the user's run: there is no end to them


@dataclass(slots=True)
class _Count:
    seen: int = 0
    kept: int = 0
    stride: int = 1
    odd: int = 0


class Sparse:
    """Each series keeps its first `whole` values, then every second, every fourth, ...: a million of them cost a
    few thousand rows. What is not finite is kept besides, as far as there are not more than `whole` of those."""

    def __init__(self, whole: int) -> None:
        self._whole = whole
        self._counts: dict[Hashable, _Count] = {}

    def wants(self, name: Hashable, value: float = 0.0) -> bool:
        count = self._counts.get(name)
        if count is None:
            if len(self._counts) >= _SERIES:
                return False
            count = self._counts[name] = _Count()
        count.seen += 1
        if not math.isfinite(value) and count.odd < self._whole:
            count.odd += 1
            return True
        if (count.seen - 1) % count.stride:
            return False
        count.kept += 1
        if count.kept >= self._whole and not count.kept % max(1, self._whole // 2):
            count.stride *= 2
        return True
