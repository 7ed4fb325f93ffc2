"""A long series as few points that look the same: what is highest and lowest in each bucket stays.

NaN and infinity have no place on an axis. They are kept as gaps: from where to where, and what they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

BUCKETS = 1200
GAPS = 400
MANY = 8  # values in a bucket, from which on their mean is drawn too


class Gap(NamedTuple):
    """Steps in a row whose value is not finite."""

    first: int
    last: int
    what: str  # "nan", "inf", "-inf", or several: "nan, inf"
    values: int  # that were seen


@dataclass(slots=True)
class Curve:
    """`x` and `y` are finite but for NaN in `y`, which interrupts the line. `last` is the newest value of all.

    Where a bucket holds many values its lowest and highest make a band; `middle` is the mean in it."""

    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    middle: list[tuple[float, float]] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    count: int = 0
    last: float | None = None

    @property
    def low(self) -> float | None:
        return min((value for value in self.y if value == value), default=None)  # noqa: PLR0124 - not NaN

    @property
    def high(self) -> float | None:
        return max((value for value in self.y if value == value), default=None)  # noqa: PLR0124 - not NaN

    @property
    def first(self) -> float | None:
        return next((value for value in self.y if value == value), None)  # noqa: PLR0124 - not NaN

    @property
    def odd(self) -> int:
        return sum(gap.values for gap in self.gaps)

    def add(self, steps: Sequence[float], values: Sequence[Any]) -> None:
        """One bucket. Values are numbers, None where nothing was measured, or "nan"."""
        try:
            total = sum(values)  # min and max would overlook a NaN
        except TypeError:
            total = math.nan
        if len(values) >= MANY:
            self.middle.append(
                (steps[len(steps) // 2], total / len(values) if math.isfinite(total) else math.nan)
            )
        if math.isfinite(total):
            self._extremes(steps, values)
            self.count += len(values)
            self.last = values[-1]
        else:
            self._one_by_one(steps, values)

    def _extremes(self, steps: Sequence[float], values: Sequence[float]) -> None:
        for place in sorted({values.index(min(values)), values.index(max(values))}):
            self.x.append(steps[place])
            self.y.append(values[place])

    def _one_by_one(self, steps: Sequence[float], values: Sequence[Any]) -> None:
        sound: list[tuple[float, float]] = []
        for step, given in zip(steps, values, strict=True):
            if given is None:
                continue
            value = float(given)
            self.count += 1
            self.last = value
            if math.isfinite(value):
                sound.append((step, value))
                continue
            self._flush(sound)
            self._gap(int(step), str(value))
        self._flush(sound)

    def _flush(self, sound: list[tuple[float, float]]) -> None:
        if sound:
            steps, values = zip(*sound, strict=True)
            self._extremes(steps, values)
            sound.clear()

    def _gap(self, step: int, what: str) -> None:
        if self.y and not math.isnan(self.y[-1]):
            self.x.append(step)
            self.y.append(math.nan)
            joins = False
        else:
            joins = bool(self.gaps)
        if joins or len(self.gaps) >= GAPS:
            gap = self.gaps[-1]
            kinds = gap.what if what in gap.what.split(", ") else f"{gap.what}, {what}"
            self.gaps[-1] = Gap(gap.first, step, kinds, gap.values + 1)
        else:
            self.gaps.append(Gap(step, step, what, 1))


def of_values(steps: Sequence[float], values: Sequence[Any], buckets: int = BUCKETS) -> Curve:
    curve = Curve()
    for some, numbers in zip(_split(steps, buckets), _split(values, buckets), strict=True):
        curve.add(some, numbers)
    return _ended(curve, steps, values)


def of_blocks(blocks: Iterable[tuple[Sequence[int], Sequence[Sequence[Any]]]], columns: int) -> list[Curve]:
    """Several columns over the same steps, read once."""
    curves = [Curve() for _ in range(columns)]
    for steps, values in blocks:
        for curve, column in zip(curves, values, strict=True):
            curve.add(steps, column)
    return curves


def block_size(rows: int, buckets: int = BUCKETS) -> int:
    return max(1, -(-rows // buckets))


def _split(values: Sequence[Any], buckets: int) -> Iterator[Sequence[Any]]:
    width = block_size(len(values), buckets)
    for start in range(0, len(values), width):
        yield values[start : start + width]


def _ended(curve: Curve, steps: Sequence[float], values: Sequence[Any]) -> Curve:
    """A line ends where the series ends."""
    if curve.x and isinstance(values[-1], float) and math.isfinite(values[-1]) and curve.x[-1] != steps[-1]:
        curve.x.append(steps[-1])
        curve.y.append(values[-1])
    return curve


def sparkline(curve: Curve, width: int = 48) -> str:
    """The curve in one line of text: × where it is not finite."""
    if not curve.x and not curve.gaps:
        return ""
    edges = [*curve.x, *(gap.first for gap in curve.gaps), *(gap.last for gap in curve.gaps)]
    start, end = min(edges), max(edges)
    span = (end - start) or 1.0
    cells: list[list[float]] = [[] for _ in range(width)]
    broken = [False] * width
    for x, y in zip(curve.x, curve.y, strict=True):
        if not math.isnan(y):
            cells[min(width - 1, int((x - start) / span * width))].append(y)
    for gap in curve.gaps:
        first, last = (min(width - 1, int((x - start) / span * width)) for x in (gap.first, gap.last))
        broken[first : last + 1] = [True] * (last + 1 - first)
    low, high = curve.low or 0.0, curve.high or 0.0
    logarithmic = low > 0 and high / low > 100

    def level(values: list[float]) -> str:
        top = max(values)
        if high == low:
            return "▄"
        share = math.log(top / low) / math.log(high / low) if logarithmic else (top - low) / (high - low)
        return "▁▂▃▄▅▆▇█"[min(7, int(share * 8))]

    return "".join(
        "×" if bad else level(values) if values else " " for values, bad in zip(cells, broken, strict=True)
    ).rstrip()
