"""Rows and their clock: sorted as text, and a zone that changes midway. What the other columns say decides, and those of a second table."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

_FEWEST = 50  # rows
_JUMPS = 20  # places at which the order of text leaves that of numbers
_ROUGHER = 3.0  # times as far as from one number to the next does a column jump there
_NUMBERED = re.compile(r"^(\D*)(\d+)(\D*)$")
_DAY = 86400.0
_QUARTER = 900.0  # seconds: zones differ by these
_HOUR = 3600.0  # summer time
_WIDEST = 14 * _HOUR
_DAYS = 7  # on either side
_REGULAR = 0.95  # of the steps
_MOST_PLACES = 3
_SAME_DAY = 0.8  # correlation of the days before and after, once the clock is put right
_BETTER = 0.4  # ... than as it stands
_NEAR = 28  # days on either side: of these the season changes little
_ALIKE = 0.9  # correlation of those, once the clock is put right,
_CLOSER = 4  # ... and so many times as close to one as it stands
_STRETCHES = 24  # in which the lag between two tables is asked for
_FEWEST_DAYS = 7  # of a stretch
_FEWEST_SIDE = 2  # stretches before and behind
_TOGETHER = 0.5  # correlation of two columns of two tables, once each time of the day has lost its mean
_SHARP = 0.1  # ... less at the other lag
_AWAY = 0.9  # of the stretches: a place where both were off may be in one of them
_MOST_COLUMNS = 12  # of each table
_PRESENT = 0.5  # of the rows of a stretch


class AsText(NamedTuple):
    column: str
    smooth: str  # the column that shows it
    here: (
        float  # how far that column moves where the order of text jumps, in steps from one number to the next
    )
    jumps: int
    example: tuple[str, str]


class Zone(NamedTuple):
    column: str  # that has the rhythm of a day
    row: int
    hours: float
    before: float  # correlation of the days on both sides, as the clock stands
    after: float  # ... once it is put right


class Lag(NamedTuple):
    """Two tables that go together at one lag up to some time, and at another one from there on."""

    column: str  # of the first table
    other: str  # of the second
    before: float  # hours by which the first is late
    behind: float
    alike: float  # correlation behind, at the lag that holds there,
    stands: float  # ... and at the one that holds before
    at: float  # seconds since 1970
    first: bool | None  # whether it is the first one's clock that jumps there; None where neither does
    jump: float  # ... by so many hours


def numbers_of(cells: Sequence[str]) -> list[int] | None:
    """The numbers of `7`, `day7` and `t_7.png`, where nothing else differs."""
    found = [_NUMBERED.match(cell) for cell in cells]
    if any(match is None for match in found):
        return None
    around = {(match[1], match[3]) for match in found if match is not None}
    return [int(match[2]) for match in found if match is not None] if len(around) == 1 else None


def sorted_as_text(cells: Mapping[str, Sequence[str]], measured: Mapping[str, Any]) -> AsText | None:
    """A column whose rows are in the order of its text and not in that of its numbers, where other columns run smoothly along the numbers."""
    import numpy as np

    for name, column in cells.items():
        if len(column) < _FEWEST or any(a > b for a, b in pairwise(column)):
            continue
        made = numbers_of(column)
        if made is None or made == sorted(made):
            continue
        steps = np.diff(np.array(made, dtype="float64"))
        usual = np.abs(steps) <= max(1.0, float(np.median(np.abs(steps))))
        jumps = int((~usual).sum())
        if jumps < _JUMPS or usual.sum() < _JUMPS:
            continue
        for other, values in measured.items():
            if other == name:
                continue
            moves = np.diff(values) ** 2
            finite = np.isfinite(moves)
            near, far = moves[usual & finite], moves[~usual & finite]
            if len(far) >= _JUMPS and len(near) >= _JUMPS and near.mean() > 0:
                here = float(np.sqrt(far.mean() / near.mean()))
                if here**2 >= _ROUGHER:
                    at = int(np.argmax(~usual))
                    return AsText(name, other, here, jumps, (column[at], column[at + 1]))
    return None


def zone_changes(times: Sequence[float], step: float, measured: Mapping[str, Any]) -> Zone | None:
    """A clock that is set to another zone from one row on: the day of the other columns moves with it."""
    import numpy as np

    slots = round(_DAY / step) if step > 0 else 0
    if not 8 <= slots <= 24 * 60 or abs(slots * step - _DAY) > 1e-6 * _DAY:
        return None
    made = np.array(times, dtype="float64")
    off = np.diff(made) - step
    sized = np.abs(off) > 0.5 * step
    zoned = sized & (np.abs(off) > 1.5 * _HOUR) & (np.abs(off) <= _WIDEST) & (np.abs(off % _QUARTER) < 1.0)
    if (~sized).mean() < _REGULAR or not 1 <= zoned.sum() <= _MOST_PLACES:
        return None
    for at in np.flatnonzero(zoned).tolist():
        move = round(float(off[at]) / step)
        for name, values in measured.items():
            if len(values) != len(made):
                continue
            before = a_day(made[: at + 1], values[: at + 1], step, slots)
            after = a_day(made[at + 1 :], values[at + 1 :], step, slots)
            if before is None or after is None:
                continue
            stands, moved = alike(before, after), alike(np.roll(before, move), after)
            if moved >= _SAME_DAY and moved - stands >= _BETTER:
                return Zone(name, at + 1, float(off[at]) / _HOUR, stands, moved)
            near = _NEAR * slots
            one = a_day(
                made[max(0, at + 1 - near) : at + 1], values[max(0, at + 1 - near) : at + 1], step, slots
            )
            two = a_day(made[at + 1 : at + 1 + near], values[at + 1 : at + 1 + near], step, slots)
            if one is None or two is None:
                continue
            turned = [alike(np.roll(one, by), two) for by in range(slots)]
            best = (int(np.argmax(turned)) - move) % slots
            stands, moved = turned[0], turned[move % slots]
            # Less than a quarter of a day is a small turn of a round shape: it has to be the very one that fits best.
            if (
                moved >= _ALIKE
                and (1 - stands) >= _CLOSER * (1 - moved)
                and min(best, slots - best) * step <= 0.5 * _HOUR
            ):
                return Zone(name, at + 1, float(off[at]) / _HOUR, stands, moved)
    return None


def lag_changes(
    first: tuple[Sequence[float], Mapping[str, Any]],
    second: tuple[Sequence[float], Mapping[str, Any]],
    step: float,
) -> Lag | None:
    """Two tables of one step, each as its times and its columns: the lag at which two of their columns go together best is the same in
    all of the time that both have, unless the clock of one of them is set to another zone midway. No other pair of columns that goes
    together may keep its lag."""
    import numpy as np

    start, end = max(min(first[0]), min(second[0])), min(max(first[0]), max(second[0]))
    days = (end - start) / _DAY
    number = min(_STRETCHES, int(days // _FEWEST_DAYS))
    if number < 2 * _FEWEST_SIDE + 1 or not 0 < step <= 0.5 * _WIDEST:
        return None
    slots = round(_DAY / step) if abs(round(_DAY / step) * step - _DAY) < 1.0 else 0
    size = int(days / number) * (slots or int(_DAY / step))
    if number * size > 2 * max(len(first[0]), len(second[0])):
        return None  # far more times than rows
    reach = int(_WIDEST / step)
    one, two = (
        {
            name: made
            for name, values in list(table[1].items())[:_MOST_COLUMNS]
            if (made := spectra(on_grid(table[0], values, start, step, number * size), number, slots, reach))
            is not None
        }
        for table in (first, second)
    )
    found: Lag | None = None
    for name, here in one.items():
        for other, there in two.items():
            worth = np.abs(np.fft.irfft(here * np.conj(there), axis=1))
            worth = np.concatenate([worth[:, -reach:], worth[:, : reach + 1]], 1)  # from -reach to +reach
            best = worth.argmax(1)
            if np.median(worth.max(1)) < _TOGETHER:
                continue
            lags = (best - reach) * step / _HOUR
            place = turn(lags)
            if place is None:
                if (np.abs(lags - np.median(lags)) <= 1.5).mean() >= _AWAY:
                    return None  # these two keep their lag: it is no matter of the clock
                continue
            before, behind = float(np.median(lags[:place])), float(np.median(lags[place:]))
            was, now = (int(np.median(best[part])) for part in (slice(place), slice(place, None)))
            own, left = np.median(worth[place:, now]), np.median(worth[place:, was])
            sharp = own - left >= _SHARP and np.median(worth[:place, was] - worth[:place, now]) >= _SHARP
            if sharp and (found is None or own > found.alike):
                around = (start + (place - 1) * size * step, start + (place + 1) * size * step)
                jumps = [jump_of(table[0], step, around, behind - before) for table in (first, second)]
                at, jump = next(
                    (each for each in jumps if each is not None), (start + place * size * step, 0.0)
                )
                jumped = None if jumps[0] is jumps[1] else jumps[0] is not None
                found = Lag(name, other, before, behind, float(own), float(left), at, jumped, jump)
    return found


def turn(lags: Any) -> int | None:
    """The stretch from which on another lag holds. Summer time may be in both parts, and the stretch of the change may have any lag."""
    import numpy as np

    for place in range(_FEWEST_SIDE, len(lags) - _FEWEST_SIDE + 1):
        before, behind = lags[:place], lags[place:]
        moved = abs(np.median(behind) - np.median(before))
        if 1.5 < moved <= _WIDEST / _HOUR and abs(lags[place] - np.median(behind)) <= 1.5:
            near = [np.abs(part - np.median(part)) <= min(1.5, 0.5 * moved) for part in (before, behind)]
            # The change may lie in the last stretch of the first part.
            if near[0][:-1].mean() >= _AWAY and near[1].mean() >= _AWAY:
                return place
    return None


def on_grid(times: Sequence[float], values: Any, start: float, step: float, length: int) -> Any:
    """One place for each step; NaN where there is no row, and the first of two rows for one time."""
    import numpy as np

    places = np.round((np.array(times) - start) / step).astype("int64")
    inside = np.flatnonzero((places >= 0) & (places < length))[::-1]
    made = np.full(length, np.nan)
    made[places[inside]] = values[inside]
    return made


def spectra(values: Any, number: int, slots: int, reach: int) -> Any:
    """Of each stretch what is left without the mean of each time of the day, at a length of one; None where too little is there."""
    import numpy as np

    parts = values.reshape(number, -1)
    there = np.isfinite(parts)
    if (there.mean(1) < _PRESENT).any():
        return None
    kept = np.where(there, parts, 0.0)
    if slots:
        by_day, counts = kept.reshape(number, -1, slots), there.reshape(number, -1, slots).sum(1)
        usual = np.tile(by_day.sum(1) / np.maximum(counts, 1), (1, parts.shape[1] // slots))
    else:
        usual = (kept.sum(1) / there.sum(1))[:, None]
    left = np.where(there, parts - usual, 0.0)
    length = np.sqrt((left**2).sum(1))
    if not (length > 0).all():
        return None
    return np.fft.rfft(left / length[:, None], parts.shape[1] + reach, axis=1)


def jump_of(
    times: Sequence[float], step: float, around: tuple[float, float], hours: float
) -> tuple[float, float] | None:
    """Where a clock leaves out as many hours as the lag has changed by, or has them twice."""
    import numpy as np

    made = np.array(times, dtype="float64")
    off = np.diff(made) - step
    fits = (
        (np.abs(np.abs(off) - abs(hours) * _HOUR) < 0.5 * step)
        & (made[1:] >= around[0])
        & (made[1:] <= around[1])
    )
    at = np.flatnonzero(fits)
    return (float(made[at[0] + 1]), float(off[at[0]]) / _HOUR) if len(at) else None


def a_day(times: Any, values: Any, step: float, slots: int) -> Any:
    """The mean of each time of the day; None where there are too few days, or a time without a number."""
    import numpy as np

    finite = np.isfinite(values)
    if finite.sum() < _DAYS * slots:
        return None
    at = ((times[finite] % _DAY) / step).round().astype("int64") % slots
    counts = np.bincount(at, minlength=slots)
    if (counts < _DAYS // 2).any():
        return None
    return np.bincount(at, weights=values[finite], minlength=slots) / counts


def alike(one: Any, two: Any) -> float:
    import numpy as np

    if one.std() <= 0 or two.std() <= 0:
        return 0.0
    return float(np.corrcoef(one, two)[0, 1])
