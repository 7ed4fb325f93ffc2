"""A few numbers of every rank, added up on all of them, over connections of our own.

An `all_reduce` of gloo hands the numbers to a thread and sends them around a ring, 2 (n - 1) messages one after the other; on ranks
that share the processor with the training every change of thread is felt. Here the thread that asks also sends, and ranks
talk in pairs, each time with one twice as far away:

    0   1   2   3          0+1  0+1  2+3  2+3          all four
     <->     <->     then   <---------->        then
                                 <---------->

Both of a pair add the same two numbers, so that the sums are the same everywhere, to the last bit.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch

_TAG = 1
_SHORTEST = 0.001  # seconds; no time at all would mean for ever


class Sums:
    """One rank's part. `group` is a `ProcessGroupGloo` that nobody else uses."""

    def __init__(self, group: Any, rank: int, size: int) -> None:
        self._group = group
        # So many ranks talk in pairs; for each of the rest one of them speaks.
        paired = 1 << (size.bit_length() - 1)
        self._speaker = rank - paired if rank >= paired else None
        self._follower = rank + paired if rank + paired < size else None
        distances = [1 << k for k in range(paired.bit_length() - 1)]
        self._partners = [] if self._speaker is not None else [rank ^ distance for distance in distances]
        self._sources = [] if self._follower is None else [self._follower]
        self._sources += self._partners
        self._rooms: dict[int, list[torch.Tensor]] = {}  # where numbers arrive: needed at every step

    def of(self, numbers: Sequence[float], patience: timedelta) -> list[float]:
        """Called by all ranks with as many numbers each, or they wait, at most so long. Raises RuntimeError."""
        until = time.monotonic() + patience.total_seconds()
        mine = torch.tensor(numbers, dtype=torch.float64)
        if self._speaker is not None:
            self._sent(mine, self._speaker, until)
            _wait(self._group.recv([mine], self._speaker, _TAG), until)
            return mine.tolist()
        rooms = self._room(len(numbers))
        # All of them at once: what is already expected arrives while this rank is still waiting for another.
        expected = [
            self._group.recv([room], source, _TAG) for room, source in zip(rooms, self._sources, strict=True)
        ]
        for source, work, room in zip(self._sources, expected, rooms, strict=True):
            sending = None if source == self._follower else self._group.send([mine], source, _TAG)
            _wait(work, until)
            if sending is not None:
                _wait(sending, until)
            mine.add_(room)
        if self._follower is not None:
            self._sent(mine, self._follower, until)
        return mine.tolist()

    def _sent(self, numbers: torch.Tensor, to: int, until: float) -> None:
        _wait(self._group.send([numbers], to, _TAG), until)

    def _room(self, size: int) -> list[torch.Tensor]:
        if size not in self._rooms:
            self._rooms[size] = [torch.zeros(size, dtype=torch.float64) for _ in self._sources]
        return self._rooms[size]


def _wait(work: Any, until: float) -> None:
    work.wait(timedelta(seconds=max(until - time.monotonic(), _SHORTEST)))
