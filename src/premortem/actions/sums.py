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
from typing import Any, NamedTuple

import torch

_TAG = 0x5EED
_SHORTEST = timedelta(milliseconds=1)  # no time at all would mean for ever


class _Room(NamedTuple):
    """Where numbers are sent from and arrive; kept, because it is needed at every step."""

    mine: torch.Tensor
    theirs: list[torch.Tensor]  # one for each rank that sends to this one


class Sums:
    """One rank's part. `group` is a `ProcessGroupGloo` that nobody else uses."""

    def __init__(self, group: Any, rank: int, size: int) -> None:
        self._group = group
        paired = 1 << (
            size.bit_length() - 1
        )  # so many ranks talk in pairs; each of the rest has one of them speak for it
        self._speaker = rank - paired if rank >= paired else None
        self._follower = rank + paired if rank + paired < size else None
        distances = [1 << k for k in range(paired.bit_length() - 1)]
        self._partners = [] if self._speaker is not None else [rank ^ distance for distance in distances]
        self._rooms: dict[int, _Room] = {}

    def of(self, numbers: Sequence[float], patience: timedelta) -> list[float]:
        """Called by all ranks with as many numbers each, or they wait, at most so long. Raises RuntimeError."""
        until = time.monotonic() + patience.total_seconds()
        mine, theirs = self._room(len(numbers))
        mine.copy_(torch.tensor(numbers, dtype=torch.float64))
        if self._speaker is not None:
            self._sent(mine, self._speaker, until)
            _wait(self._group.recv([mine], self._speaker, _TAG), until)
            return mine.tolist()
        sources = self._partners if self._follower is None else [self._follower, *self._partners]
        # All of them at once: what is already expected arrives while this rank is still waiting for another.
        expected = [
            self._group.recv([room], source, _TAG) for room, source in zip(theirs, sources, strict=True)
        ]
        for source, work, room in zip(sources, expected, theirs, strict=True):
            if source == self._follower:
                _wait(work, until)
            else:
                sending = self._group.send([mine], source, _TAG)
                _wait(work, until)
                _wait(sending, until)
            mine.add_(room)
        if self._follower is not None:
            self._sent(mine, self._follower, until)
        return mine.tolist()

    def _sent(self, numbers: torch.Tensor, to: int, until: float) -> None:
        _wait(self._group.send([numbers], to, _TAG), until)

    def _room(self, size: int) -> _Room:
        if size not in self._rooms:
            sources = len(self._partners) + (self._follower is not None)
            mine, *theirs = (torch.zeros(size, dtype=torch.float64) for _ in range(1 + sources))
            self._rooms[size] = _Room(mine, theirs)
        return self._rooms[size]


def _wait(work: Any, until: float) -> None:
    work.wait(max(timedelta(seconds=until - time.monotonic()), _SHORTEST))
