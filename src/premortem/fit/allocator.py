"""A model of torch's caching allocator on one stream with default settings.

Sizes are rounded up to 512 bytes. Up to 1 MiB they are cut from segments of 2 MiB, up to 10 MiB from segments of 20 MiB,
above that each has its own, rounded up to 2 MiB. The smallest free block that is large enough is taken, and split where
the rest is worth keeping. Neighbours that are both free become one.
"""

import bisect
from dataclasses import dataclass

from premortem.fit.gpus import MIB

_ROUND = 512
_SMALL = MIB
_FAR = 1 << 40  # segments never touch


class OutOfMemory(Exception):  # noqa: N818 - what happened, as torch calls it
    """The card has no room for one more segment, also after the cache was given back."""

    def __init__(self, wanted: int, allocated: int, reserved: int) -> None:
        super().__init__(f"{wanted} bytes wanted, {allocated} allocated, {reserved} reserved")
        self.wanted, self.allocated, self.reserved = wanted, allocated, reserved
        self.number = -1  # which allocation of the diary it was


@dataclass(slots=True)
class _Block:
    size: int
    small: bool
    used: bool = False
    before: int | None = None
    after: int | None = None


class Allocator:
    """Counts what `torch.cuda.memory_stats` counts. `limit` is the room of the card, if it has one."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.allocated = self.reserved = self.peak_allocated = self.peak_reserved = 0
        self.retries = 0
        self._free: dict[bool, list[tuple[int, int]]] = {True: [], False: []}  # (size, address), sorted
        self._blocks: dict[int, _Block] = {}
        self._next = 0

    def allocate(self, wanted: int) -> int:
        """The address of a new block. Raises OutOfMemory as the card would."""
        size = max(_ROUND, -(-wanted // _ROUND) * _ROUND)
        small = size <= _SMALL
        free = self._free[small]
        at = bisect.bisect_left(free, (size, -1))
        address = free.pop(at)[1] if at < len(free) else self._segment(size, small=small)
        block = self._blocks[address]
        rest = block.size - size
        if rest >= _ROUND if small else rest > _SMALL:
            other = address + size
            self._blocks[other] = _Block(rest, small, before=address, after=block.after)
            if block.after is not None:
                self._blocks[block.after].before = other
            block.size, block.after = size, other
            bisect.insort(free, (rest, other))
        block.used = True
        self.allocated += block.size
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        return address

    def release(self, address: int) -> None:
        block = self._blocks[address]
        block.used = False
        self.allocated -= block.size
        free = self._free[block.small]
        if block.after is not None and not self._blocks[block.after].used:
            free.remove((self._blocks[block.after].size, block.after))
            self._join(address, block.after)
        if block.before is not None and not self._blocks[block.before].used:
            free.remove((self._blocks[block.before].size, block.before))
            self._join(block.before, address)
            address = block.before
        bisect.insort(free, (self._blocks[address].size, address))

    def _join(self, left: int, right: int) -> None:
        first, second = self._blocks[left], self._blocks.pop(right)
        first.size += second.size
        first.after = second.after
        if second.after is not None:
            self._blocks[second.after].before = left

    def _segment(self, size: int, *, small: bool) -> int:
        own = 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        whole = 2 * MIB if small else own
        if self.limit is not None and self.reserved + whole > self.limit:
            self._give_back()
            self.retries += 1
            if self.reserved + whole > self.limit:
                raise OutOfMemory(size, self.allocated, self.reserved)
        address = self._next
        self._next += whole + _FAR
        self._blocks[address] = _Block(whole, small)
        self.reserved += whole
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        return address

    def _give_back(self) -> None:
        """Segments in which nothing is used go back to the card, as torch does before it fails."""
        for free in self._free.values():
            kept = []
            for size, address in free:
                block = self._blocks[address]
                if block.before is None and block.after is None:
                    self.reserved -= size
                    del self._blocks[address]
                else:
                    kept.append((size, address))
            free[:] = kept
