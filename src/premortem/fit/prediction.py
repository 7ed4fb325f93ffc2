"""From the diary of a rehearsal to the peak: how much, when, and what was alive. Pure."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from premortem.fit.allocator import Allocator, OutOfMemory
from premortem.fit.gpus import GIB

PICTURE_POINTS = 600


@dataclass(repr=False)
class Prediction:
    allocated: int = 0  # peaks, in bytes, as torch counts them
    reserved: int = 0  # on the card, where it goes through there
    reserved_unlimited: int = 0  # what the allocator would take if nothing made it give back
    kinds: dict[str, int] = field(default_factory=dict)  # alive at the peak
    groups: list[dict[str, Any]] = field(default_factory=list)  # likewise, largest first
    modules: dict[str, int] = field(default_factory=dict)  # what activations and temporaries belong to
    phase: str = ""
    timeline: list[dict[str, int]] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    fits: bool | None = None  # whether the whole diary goes through on a card of this size
    retries: int = 0
    failed: dict[str, Any] | None = None  # the allocation the card has no room for
    assumptions: list[str] = field(default_factory=list)
    device: str = ""
    verdict: str = ""  # fits, tight or no

    # The same names as in the JSON of `premortem fit`.

    @property
    def peak_allocated_bytes(self) -> int:
        return self.allocated

    @property
    def peak_reserved_bytes(self) -> int:
        return self.reserved

    @property
    def by_kind(self) -> dict[str, int]:
        return self.kinds

    @property
    def top(self) -> list[dict[str, Any]]:
        return self.groups

    def __repr__(self) -> str:
        peak = f"{self.allocated / GIB:.2f} GiB allocated, {self.reserved / GIB:.2f} GiB reserved"
        return f"<Prediction for {self.device or 'a card'}: {self.verdict or 'no verdict'}, peak {peak}>"


def predict(trace: Any, room: int | None = None) -> Prediction:
    """`room` is what a card leaves to torch; the diary is played on one without limit and on this one."""
    allocator = Allocator()
    at = _play(trace, allocator)
    found = Prediction(allocated=allocator.peak_allocated, reserved=allocator.peak_reserved)
    found.reserved_unlimited = found.reserved
    living = _living(trace.diary[: at + 1])
    rounded: Counter[str] = Counter()
    for number in living:
        allocation = trace.allocations[number]
        rounded[allocation.kind] += -(-allocation.bytes // 512) * 512
    found.kinds = {kind: size for kind, size in rounded.most_common() if size}
    found.groups = _groups(trace, living)
    found.modules = _modules(trace, living)
    if 0 <= at < len(trace.diary):
        found.phase = trace.allocations[trace.diary[at]].phase
    found.timeline, found.marks = _timeline(trace)
    if room is not None:
        limited = Allocator(room)
        try:
            _play(trace, limited)
            found.fits, found.reserved = True, limited.peak_reserved
        except OutOfMemory as error:
            found.fits = False
            found.failed = _described(trace.allocations[error.number])
        found.retries = limited.retries
    return found


def needed(trace: Any, found: Prediction) -> int:
    """The least room in which it goes through, to a part of four hundred: between what is allocated and what the allocator
    would reserve without a limit."""
    low, high = found.allocated, found.reserved_unlimited
    while high - low > high // 400:
        middle = (low + high) // 2
        try:
            _play(trace, Allocator(middle))
            high = middle
        except OutOfMemory:
            low = middle
    return high


def _play(trace: Any, allocator: Allocator) -> int:
    """The place in the diary where the most is allocated."""
    addresses: dict[int, int] = {}
    peak, at = 0, -1
    for place, number in enumerate(trace.diary):
        if number < 0:
            address = addresses.pop(~number, None)
            if address is not None:
                allocator.release(address)
            continue
        allocation = trace.allocations[number]
        if not allocation.bytes:
            continue
        try:
            addresses[number] = allocator.allocate(allocation.bytes)
        except OutOfMemory as error:
            if not allocation.needed:
                continue
            error.number = number
            raise
        if allocator.allocated > peak:
            peak, at = allocator.allocated, place
    return at


def _living(diary: list[int]) -> list[int]:
    alive: dict[int, None] = {}
    for number in diary:
        if number < 0:
            alive.pop(~number, None)
        else:
            alive[number] = None
    return list(alive)


def _described(allocation: Any) -> dict[str, Any]:
    return {
        "op": allocation.op,
        "module": allocation.module,
        "file": allocation.file,
        "line": allocation.line,
        "bytes": allocation.bytes,
        "kind": allocation.kind,
        "shape": list(allocation.shape),
        "dtype": allocation.dtype,
    }


_STANDING = {"parameters", "gradients", "optimizer state", "buffers"}


def _groups(trace: Any, living: list[int]) -> list[dict[str, Any]]:
    """What is alive, one row for each operation and line."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for number in living:
        allocation = trace.allocations[number]
        if allocation.kind in _STANDING or not allocation.bytes:
            continue
        key = (allocation.op, allocation.file, allocation.line, allocation.kind)
        row = rows.get(key)
        if row is None:
            rows[key] = {**_described(allocation), "count": 1, "largest": allocation.bytes}
            continue
        row["bytes"] += allocation.bytes
        row["count"] += 1
        if allocation.bytes > row["largest"]:
            row.update(largest=allocation.bytes, shape=list(allocation.shape), dtype=allocation.dtype)
        if row["module"] != allocation.module:
            row["module"] = _common(row["module"], allocation.module)
    return sorted(rows.values(), key=lambda row: -row["bytes"])


def _common(first: str, second: str) -> str:
    """`blocks.3.attn` and `blocks.7.attn` are `blocks.*.attn`."""
    one, two = first.split("."), second.split(".")
    if len(one) != len(two):
        return one[0] if one[0] == two[0] else ""
    return ".".join(a if a == b else "*" for a, b in zip(one, two, strict=True))


def _modules(trace: Any, living: list[int]) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for number in living:
        allocation = trace.allocations[number]
        if allocation.kind not in _STANDING:
            sizes[allocation.module] += allocation.bytes
    return dict(sizes.most_common(40))


def _timeline(trace: Any) -> tuple[list[dict[str, int]], list[tuple[float, str]]]:
    """The bytes of each kind over the course of the rehearsal, thinned: of each stretch, its highest moment."""
    length = len(trace.diary)
    stretch = max(1, -(-length // PICTURE_POINTS))
    now: Counter[str] = Counter()
    total = high = 0
    points: list[dict[str, int]] = []
    best: dict[str, int] = {}
    for place, number in enumerate(trace.diary):
        allocation = trace.allocations[number if number >= 0 else ~number]
        change = allocation.bytes if number >= 0 else -allocation.bytes
        now[allocation.kind] += change
        total += change
        if total >= high or not best:
            high, best = total, dict(now)
        if (place + 1) % stretch == 0 or place + 1 == length:
            points.append({kind: size for kind, size in best.items() if size > 0})
            high, best = total, dict(now)
    marks = [(min(place / stretch, len(points) - 1), what) for place, what in trace.marks]
    return points, marks
