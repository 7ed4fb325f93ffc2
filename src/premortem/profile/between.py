"""What two streams say together: training and evaluation, one file and another, the first half and the second."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from premortem.profile.alone import ENOUGH
from premortem.profile.facts import Column, Overlap, Profile, Shift
from premortem.profile.sample import Sample

# A column that goes on growing (an hour, a price) is two spreads further in the last fifth of the rows.
SHIFTED = 4.0  # spreads of the wider of the two
RESCALED = 6.0  # times as wide
_STAYS = 0.05  # of its size: what a spread must at least be to be compared
_CHANCE = 1e-6  # that a class which is there does not turn up
FEWEST = 5  # rows of a class
_TOLD_APART = 0.5  # spreads between two columns, below which an exchange changes little
_TIMES = 10.0  # times as far as chance has it: among 64 columns there are two thousand pairs
_NO_FURTHER = 0.25  # of that distance, once exchanged
LARGER = 5.0  # times as many rows in the evaluation as in training


def phases(profiles: Iterable[Profile]) -> Iterator[tuple[Profile, Profile]]:
    """What each model was trained on, with each evaluation of the same model on the same columns."""
    every = list(profiles)
    for trained in every:
        for judged in every:
            if trained.phase == "training" and judged.phase == "evaluation" and trained.model == judged.model:
                if trained.kind == judged.kind and [c.name for c in trained.columns] == [
                    c.name for c in judged.columns
                ]:
                    yield trained, judged


def overlap(first: Sample, second: Sample, names: tuple[str, str]) -> Overlap | None:
    """Rows of the second that are rows of the first."""
    of = second.comparable(first)
    both = second.shared(first)
    if not both or not of:
        return None
    here, there = both[0]
    example = f"row {here.place} of {names[1]} is row {there.place} of {names[0]}"
    different = sum(a.label is not None and b.label is not None and a.label != b.label for a, b in both)
    return Overlap(*names, len(both), of, second.distinct, example, different)


def only_in(first: Profile, second: Profile) -> list[tuple[str, int]]:
    """Classes of the second that never came in the first, although they should have if it were like the second."""
    if not first.classes or not second.classes:
        return []
    known = {label for label, _ in first.classes}
    mine, total = sum(n for _, n in first.classes), sum(n for _, n in second.classes)
    missing = [(label, n) for label, n in second.classes if label not in known and n >= FEWEST]
    surely = [
        (label, n) for label, n in missing if (1 - n / total) ** mine < _CHANCE or mine * n / total > 20
    ]
    # Where hardly a class is common to both they are numbered or chosen apart, which is another matter.
    common = sum(label in known for label, _ in second.classes)
    return surely if common >= 2 or common >= len(surely) else []


def shifts(first: Profile, second: Profile, *, far: float = SHIFTED, wide: float = RESCALED) -> list[Shift]:
    """Columns that are not what they are in the other stream."""
    if first.kind != second.kind or [c.name for c in first.columns] != [c.name for c in second.columns]:
        return []
    pairs = [
        (a, b)
        for a, b in zip(first.columns, second.columns, strict=True)
        if min(a.counted, b.counted) >= ENOUGH // 2
    ]
    found = exchanged(pairs)
    named = {name for shift in found for name in (shift.column, shift.other)}
    for a, b in pairs:
        if a.name not in named and (how := differs(a, b, far, wide)):
            factor = b.spread / a.spread if a.spread else 0.0
            found.append(Shift(a.name, how, a.mean, a.spread, b.mean, b.spread, factor))
    return found


def differs(a: Column, b: Column, far: float, wide: float) -> str:
    if a.distinct <= 2 or (b.distinct <= 2 and b.low != b.high):
        return ""  # flags
    if b.low == b.high or a.low == a.high:
        flat, other = (b, a) if b.low == b.high else (a, b)
        return "constant" if other.distinct > 8 and flat.counted >= ENOUGH else ""
    # Quartiles and median: one outlier in either must not decide.
    size = max(middle(a), middle(b))
    if size <= 0:
        return ""
    if abs(a.median - b.median) > far * 1.35 * size and apart(a, b):
        return "shifted"
    one, two = middle(a), middle(b)
    if min(one, two) <= 0 or min(a.distinct, b.distinct) <= 8:
        return ""
    ratio = two / one
    if ratio > wide and b.spread > wide / 2 * a.spread:
        return "rescaled"
    if ratio < 1 / wide and b.spread < 2 / wide * a.spread and not within(b, a):
        return "rescaled"
    return ""


def middle(column: Column) -> float:
    return column.middle / 1.35


def apart(a: Column, b: Column) -> bool:
    """Nine tenths of the one lie beyond nine tenths of the other."""
    return a.quantiles[5] < b.quantiles[1] or b.quantiles[5] < a.quantiles[1]


def within(narrow: Column, wide: Column) -> bool:
    """A narrow part of the same range: the last month of a year. Not a smaller unit: that lies about 0."""
    size = max(abs(narrow.low), abs(narrow.high))
    return size > 0.2 * max(abs(wide.low), abs(wide.high))


def exchanged(pairs: Sequence[tuple[Column, Column]]) -> list[Shift]:
    """Two columns that are each what the other is in the other stream: RGB and BGR, latitude and longitude."""
    found = []
    pairs = [(a, b) for a, b in pairs if not a.name.startswith(("deviation", "lowest", "highest"))]
    for at, (a, b) in enumerate(pairs):
        for c, d in pairs[at + 1 :]:
            straight = min(distance(a, b), distance(c, d))
            crossed = max(distance(a, d), distance(c, b))
            noise = 1 / math.sqrt(min(a.counted, b.counted, c.counted, d.counted))
            if (
                straight > max(_TOLD_APART, _TIMES * noise)
                and crossed < max(_NO_FURTHER * straight, 3 * noise)
                and crossed < 0.5 * straight
            ):
                found.append(Shift(a.name, "exchanged", a.mean, a.spread, b.mean, b.spread, 0.0, c.name))
    return found if len(found) <= 2 else []


def distance(a: Column, b: Column) -> float:
    """Between two distributions, in spreads."""
    size = max(a.spread, b.spread)
    if size <= 0:
        return 0.0 if a.mean == b.mean else math.inf
    ratio = abs(math.log(max(a.spread, 1e-12) / max(b.spread, 1e-12)))
    return abs(a.mean - b.mean) / size + ratio
