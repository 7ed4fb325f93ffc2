"""One column that differs, where everything else says that two sets of rows are drawn from the same.

How far two files may differ by nature depends on how they came about, and their other columns say it: if all of these agree up to
chance, the files were drawn alike, and one column that does not agree is in another unit, however small the step looks beside the
thresholds for files of another time or place.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from premortem.profile.alone import ENOUGH, column_of
from premortem.profile.facts import Column, Rarer, Shift
from premortem.profile.joint import AS_FAR
from premortem.profile.sample import Row, Sample

_CHANCE = 4.0  # standard errors
_OTHERS = 3  # columns that agree
_FAR = 1.0  # spreads
_WIDE = 1.7  # times
_VARIED = 12  # different values
_FEWEST_FILES = 4
_TIMES = 2.0  # as often: the odds of a flag in one stream against those in the other
_SPREAD = 1.35  # quartiles of a normal distribution lie so many spreads apart


def alike(a: Column, b: Column, errors: float = _CHANCE) -> bool:
    """Whether chance explains how two samples of a column differ, in place and in width."""
    error = math.sqrt(1 / max(1, a.counted) + 1 / max(1, b.counted))
    one, two = a.middle / _SPREAD, b.middle / _SPREAD
    if min(one, two) <= 0:
        return a.median == b.median and one == two
    near = abs(a.median - b.median) < errors * 1.25 * error * max(one, two)
    return near and abs(math.log(two / one)) < errors * 1.2 * error


def lone_column(first: Sequence[Column], second: Sequence[Column]) -> Shift | None:
    """The only column that differs, and does so by much; at least three others agree up to chance."""
    pairs = [
        (a, b)
        for a, b in zip(first, second, strict=True)
        if min(a.distinct, b.distinct) > _VARIED and min(a.counted, b.counted) >= ENOUGH
    ]
    odd = [(a, b) for a, b in pairs if not alike(a, b)]
    if len(odd) != 1 or len(pairs) - 1 < _OTHERS or alike(*odd[0], 2 * _CHANCE):
        return None
    a, b = odd[0]
    one, two = a.middle, b.middle
    if min(one, two) <= 0:
        return None
    far = abs(a.median - b.median) > _FAR * max(one, two) / _SPREAD
    if not far and max(one / two, two / one) < _WIDE:
        return None
    # Another unit does to all rows what it does to the quartiles. Of rounded values these jump from one to the next by chance.
    if not far and not alike_in_width(a, b, two / one):
        return None
    return Shift(a.name, "shifted" if far else "rescaled", a.mean, a.spread, b.mean, b.spread, two / one)


def alike_in_width(a: Column, b: Column, times: float) -> bool:
    """Whether the spread goes the way of the quartiles, half of it at least."""
    if min(a.spread, b.spread) <= 0:
        return False
    return math.log(b.spread / a.spread) * math.copysign(1, math.log(times)) > 0.5 * abs(math.log(times))


def columns_of(sample: Sample, rows: Sequence[Row]) -> list[Column]:
    return [column_of(name, [row.values[at] for row in rows]) for at, name in enumerate(sample.columns)]


def between_splits(first: Sample, second: Sample) -> Shift | None:
    """... that does not wander from the first to the second half of either."""
    if first.columns != second.columns:
        return None
    found = lone_column(
        columns_of(first, list(first.kept.values())), columns_of(second, list(second.kept.values()))
    )
    if found is None:
        return None
    place = first.columns.index(found.column)
    for sample in (first, second):
        halves = [[row.values[place] for row in half.kept.values()] for half in sample.halves()]
        early, late = (column_of(found.column, values) for values in halves)
        if not alike(early, late):
            return None
    return found


def is_as_far(found: Shift, first: Column, second: Column) -> bool:
    """Whether these two differ about as much as those of the shift do."""
    if found.how == "shifted":
        size = max(found.first_spread, found.second_spread)
        return abs(second.mean - first.mean) >= AS_FAR * min(abs(found.second - found.first), size)
    if min(first.middle, second.middle) <= 0 or found.factor <= 0:
        return False
    return abs(math.log(second.middle / first.middle)) >= AS_FAR * abs(math.log(found.factor))


def two_groups(samples: Sequence[Sample]) -> tuple[Shift, list[int]] | None:
    """The column by which files fall into two groups that agree in everything else, and the files of the smaller one."""
    files = [at for at, each in enumerate(samples) if len(each.kept) >= ENOUGH // 2]
    if len(files) < _FEWEST_FILES or len({samples[at].columns for at in files}) != 1:
        return None
    made = {at: columns_of(samples[at], list(samples[at].kept.values())) for at in files}
    for place in range(len(made[files[0]])):
        order = sorted(files, key=lambda at: made[at][place].median)
        gaps = [made[b][place].median - made[a][place].median for a, b in pairwise(order)]
        cut = gaps.index(max(gaps)) + 1
        low, high = order[:cut], order[cut:]
        name = made[files[0]][place].name
        sides = [
            column_of(name, [row.values[place] for at in group for row in samples[at].kept.values()])
            for group in (low, high)
        ]
        if alike(sides[0], sides[1], 2 * _CHANCE):
            continue  # before all the others are looked at
        groups = [
            columns_of(samples[files[0]], [row for at in group for row in samples[at].kept.values()])
            for group in (low, high)
        ]
        found = lone_column(*groups)
        if found is None or found.column != groups[0][place].name:
            continue
        within = zip((low, high), groups, strict=True)
        if all(alike(made[at][place], whole[place]) for group, whole in within for at in group):
            few = low if len(low) < len(high) else high
            if few is low:  # the second of a shift is the odd one
                found = found._replace(
                    first=found.second,
                    first_spread=found.second_spread,
                    second=found.first,
                    second_spread=found.first_spread,
                    factor=1 / found.factor,
                )
            return found, sorted(few)
    return None


def rarer(first: Sequence[Column], second: Sequence[Column]) -> list[Rarer]:
    """Of a table of flags (tags, answers), those that are set far more seldom in one of two streams, where as many others agree up to
    chance: what was not looked at is stored like what is not there."""
    pairs = [
        (a, b)
        for a, b in zip(first, second, strict=True)
        if min(a.counted, b.counted) >= ENOUGH and is_flag(a) and is_flag(b)
    ]
    if len(pairs) < len(first) or len(pairs) < 2 * _OTHERS:
        return []
    odd, agreeing = [], 0
    for a, b in pairs:
        error = math.sqrt(flag_error(a, b))
        apart = abs(a.mean - b.mean)
        if apart < _CHANCE * error:
            agreeing += 1
        elif apart > 2 * _CHANCE * error and odds_ratio(a.mean, b.mean) > _TIMES:
            odd.append(Rarer(a.name, a.mean, b.mean))
    one_way = len({found.first < found.second for found in odd}) == 1
    # What is between the two says that the streams were not drawn alike.
    alike = agreeing >= max(_OTHERS, len(odd)) and agreeing + len(odd) == len(pairs)
    return odd if one_way and alike else []


def is_flag(column: Column) -> bool:
    return column.low >= 0.0 and column.high <= 1.0 and column.distinct <= 2 and column.whole


def flag_error(a: Column, b: Column) -> float:
    share = (a.mean * a.counted + b.mean * b.counted) / (a.counted + b.counted)
    return share * (1 - share) * (1 / a.counted + 1 / b.counted)


def odds_ratio(one: float, two: float) -> float:
    low, high = sorted((one, two))
    return math.inf if low <= 0 or high >= 1 else (high / (1 - high)) / (low / (1 - low))
