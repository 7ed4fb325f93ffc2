"""A few numbers of every rank, added up on all of them, over connections of our own.

An `all_reduce` of gloo hands the numbers to a thread and sends them around a ring, 2 (n - 1) messages one after the other; on ranks
that share the processor with the training every change of thread is felt. Here the thread that asks also sends, and ranks
talk in pairs, each time with one twice as far away:

    0   1   2   3          0+1  0+1  2+3  2+3          all four
     <->     <->     then   <---------->        then
                                 <---------->

Both of a pair add the same two numbers, so that the sums are the same everywhere, to the last bit. What a rank will hear next it
expects beforehand: gloo keeps a message back until then, and asking for it takes as long as the message itself.
"""

from __future__ import annotations

import operator
import time
from array import array
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch

_SHORTEST = 0.001  # seconds; no time at all would mean for ever


class Room:
    """Numbers of one message, as what Python adds up and as what gloo sends. A few dozen of them are not worth an operation
    of torch's, which costs more between two steps of a training than in a loop of its own."""

    def __init__(self, size: int) -> None:
        self.numbers = array("d", bytes(8 * size))
        self.sent = [torch.frombuffer(self.numbers, dtype=torch.float64)]


class Rooms:
    """For messages of one size: ours, and what is expected of each rank that sends to this one."""

    def __init__(self, group: Any, size: int, sources: list[int]) -> None:
        self._works: list[Any] = []  # the first to go when this goes: they write into the rooms
        self.mine = Room(size)
        self.theirs = [Room(size) for _ in sources]
        self._group, self._size, self._sources = group, size, sources
        self.expect()

    def expect(self) -> None:
        self._works = [
            self._group.recv(room.sent, source, self._size)
            for room, source in zip(self.theirs, self._sources, strict=True)
        ]

    def send(self, to: int) -> Any:
        return self._group.send(self.mine.sent, to, self._size)  # messages of another size have another tag

    def arrive(self, number: int, until: float) -> array[float]:
        wait(self._works[number], until)
        return self.theirs[number].numbers


class Sums:
    """One rank's part. `group` is a `ProcessGroupGloo` that nobody else uses."""

    def __init__(self, group: Any, rank: int, size: int) -> None:
        self._group = group
        # So many ranks talk in pairs; for each of the rest one of them speaks.
        paired = 1 << (size.bit_length() - 1)
        self._speaker = rank - paired if rank >= paired else None
        self._follower = rank + paired if rank + paired < size else None
        self._partners = [] if rank >= paired else [rank ^ (1 << k) for k in range(paired.bit_length() - 1)]
        others = (self._speaker, self._follower, *self._partners)
        self._sources = [each for each in others if each is not None]
        self._rooms: dict[int, Rooms] = {}

    def of(self, numbers: Sequence[float], patience: timedelta) -> list[float]:
        """Called by all ranks with as many numbers each, or they wait, at most so long. Raises RuntimeError, and
        is of no more use then."""
        until = time.monotonic() + patience.total_seconds()
        rooms = self._rooms.get(len(numbers))
        if rooms is None:
            rooms = self._rooms[len(numbers)] = Rooms(self._group, len(numbers), self._sources)
        rooms.mine.numbers[:] = array("d", numbers)
        if self._speaker is not None:
            wait(rooms.send(self._speaker), until)
            summed = rooms.arrive(0, until).tolist()
        else:
            summed = self._in_pairs(rooms, until)
        rooms.expect()
        return summed

    def _in_pairs(self, rooms: Rooms, until: float) -> list[float]:
        mine = rooms.mine.numbers
        for number, source in enumerate(self._sources):
            sending = None if source == self._follower else rooms.send(source)
            theirs = rooms.arrive(number, until)
            if sending is not None:
                wait(sending, until)
            mine[:] = array("d", map(operator.add, mine, theirs))
        if self._follower is not None:
            wait(rooms.send(self._follower), until)
        return mine.tolist()


def wait(work: Any, until: float) -> None:
    work.wait(timedelta(seconds=max(until - time.monotonic(), _SHORTEST)))
