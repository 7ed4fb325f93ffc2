"""Encoded samples in a shared region: put in by one process, copied out by any."""

from collections.abc import Iterable
from typing import Any

import torch

from premortem.parts.encoded import Encoded, decode
from premortem.parts.region import Region
from premortem.parts.shelves import FULL, LARGE, PAGE, Held, Run, Shelves


class SharedSamples:
    """Every method may be called by several processes at once. Bytes are copied outside of the lock."""

    def __init__(self, samples: int, budget: int, *, evict: bool) -> None:
        pages = budget // PAGE
        first, whole = Shelves.size_for(samples, pages)
        self._region = Region(whole)
        self._shelves = Shelves(self._region, samples, pages, evict=evict)
        self._look_at(first)

    def _look_at(self, first: int) -> None:
        self._first = first
        self._view = memoryview(self._region.memory)[first:]
        self._bytes = torch.frombuffer(self._region.memory, dtype=torch.uint8, offset=first)

    def __getstate__(self) -> dict[str, Any]:
        return {"_region": self._region, "_shelves": self._shelves, "_first": self._first}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._look_at(self._first)

    def __len__(self) -> int:
        return self._shelves.samples

    @property
    def used(self) -> int:
        return PAGE * self._shelves.counter("used")

    def counts(self) -> dict[str, int]:
        with self._region.locked():
            return {
                name: self._shelves.counter(name) for name in ("held", "hits", "misses", "evicted", "random")
            }

    def count(self, name: str) -> int:
        with self._region.locked():
            return self._shelves.count(name)

    def reasons(self) -> list[int]:
        """Of each sample: why it is not held, 0 where nothing stood in the way."""
        return self._shelves.reasons.tolist()

    def holds(self, sample: int) -> bool:
        return self._shelves.holds(sample)

    def reason(self, sample: int) -> int:
        return self._shelves.reasons[sample]

    def leave_out(self, samples: Iterable[int], reason: int) -> None:
        with self._region.locked():
            for sample in samples:
                if not self._shelves.holds(sample):
                    self._shelves.reasons[sample] = reason

    def recall(self, sample: int) -> tuple[Any] | None:
        """A copy, in a tuple, because a sample can be None."""
        with self._region.locked():
            held = self._shelves.find(sample)
            self._shelves.count("hits" if held else "misses")
        if held is None:
            return None
        if not self._shelves.evict:
            return (self._copy(held),)
        try:
            found, error = self._copy(held), None
        except Exception as caught:  # noqa: BLE001 - of bytes that were overwritten; or a fault of the sample's own class
            found, error = None, caught
        with self._region.locked():  # while it was copied, another process may have needed the room
            if self._shelves.is_still(sample, held):
                if error is not None:
                    raise error
                return (found,)
            self._shelves.count("hits", -1)
            self._shelves.count("misses")
        return None

    def keep(self, sample: int, encoded: Encoded, *, evict: bool) -> int:
        """0, or why it is not held now."""
        if encoded.size > self._shelves.pages * PAGE:
            self.leave_out([sample], LARGE)
            return LARGE
        with self._region.locked():
            runs = self._shelves.reserve(encoded.size, evict=evict)
        if runs is None:
            if not self._shelves.evict:
                self.leave_out([sample], FULL)
            return FULL
        self._write(runs, encoded)
        with self._region.locked():
            self._shelves.publish(sample, runs, encoded.size, len(encoded.tail))
        return 0

    def _copy(self, held: Held) -> Any:
        def fetch(start: int, length: int) -> bytearray:
            ranges = _ranges(held.runs, start, length)
            return bytearray().join(self._view[begin:end] for begin, end in ranges)

        return decode(fetch(held.size - held.tail, held.tail), fetch)

    def _write(self, runs: list[Run], encoded: Encoded) -> None:
        tail = torch.frombuffer(bytearray(encoded.tail), dtype=torch.uint8)
        start = 0
        for chunk in (*encoded.chunks, tail):
            done = 0
            for begin, end in _ranges(runs, start, chunk.numel()):
                self._bytes[begin:end] = chunk[done : done + end - begin]
                done += end - begin
            start += chunk.numel()


def _ranges(runs: list[Run], start: int, length: int) -> list[tuple[int, int]]:
    """Where bytes `start` to `start + length` of a sample lie in the region."""
    found = []
    for run in runs:
        size = run.pages * PAGE
        if length > 0 and start < size:
            taken = min(size - start, length)
            found.append((run.page * PAGE + start, run.page * PAGE + start + taken))
            length -= taken
            start = 0
        else:
            start -= size
    return found
