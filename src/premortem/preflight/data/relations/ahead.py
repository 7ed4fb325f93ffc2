"""Inputs that are made from rows after their own, in a table in the order of time whose target is a later row. Only exact relations count.

A base is a column of which the target is a later row; the nearest one is taken. Each input is then held against the mean, the sum, the
highest and the lowest of the base over every window of rows. One that reaches to the target holds it; one that ends before the target
does so only where the base is known to be of its own row, as the base may be a lag of a column that is not there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

from premortem.preflight.data.relations import columns
from premortem.preflight.data.relations.laws import rounding
from premortem.preflight.data.tables import Table
from premortem.preflight.data.times import Times

_FEWEST = 200  # rows
_REACH = 400  # rows before and after: a year of days, a day of five minutes, two weeks of hours
_SHORT = 200  # ... of the highest and lowest, of which each window has to be gone through
_ASKED = 400  # rows in which a base is looked for
_DRAWN = 24  # rows in which windows are looked for
_WRONG = 3  # of them may be filled in by hand
_SHARED = 6  # ... of which all windows are kept for the next input; one may be wrong in these
_MOST_WINDOWS = 200  # that are held against all rows
_SAME = 0.95  # of the rows: the others may be filled in, or be at an edge
_LESS = 0.05  # of the rows: no window that ends before does nearly as well
_TELLING = 100  # rows in which the window is not what it would be one row before
_MOST_INPUTS = 64
_MOST_BASES = 24
_RISING = 0.98  # of the rows: a clock that is put back has an hour twice
_GROUPS = 30  # rows of a group, on average
_MOST_GROUPINGS = 6  # columns that may say whose row it is
_LAG = re.compile(
    r"lag|prev|last|ago|past|before|yesterday|shift|old|\d"
)  # names of what may be of an earlier row
_PURE = frozenset({"mean", "sum"})


class Base(NamedTuple):
    column: str
    later: int  # rows: the target is this row of it,
    how: str  # ... "", or its "change", "ratio", "logarithm" or "direction" since its own row


class Ahead(NamedTuple):
    base: Base
    column: str
    how: str  # "mean", "sum", "highest", "lowest"
    start: int  # rows from its own: the first of the window
    end: int
    rows: int  # in which it is so
    of: int
    away: float  # how far it is from that of the rows up to its own, at most


class Laid(NamedTuple):
    """Where each row lies, one series after the other, in the order of time; without rows that are missing."""

    places: Any  # of each row
    series: Any  # of each place

    def reach(self) -> int:
        """How far rows of one series are looked at from one of them: a quarter of a usual series."""
        import numpy as np

        return min(_REACH, int(np.median(np.bincount(self.series))) // 4)

    def out(self, values: Any) -> Any:
        import numpy as np

        made = np.full(len(self.series), np.nan)
        made[self.places] = values
        return made


def ahead(
    table: Table, times: Times, target: str, bases: Sequence[Base], inputs: frozenset[str]
) -> Iterator[Ahead]:
    """`bases`: what the script makes the target from, where it does; else the target is a column."""
    if not columns.counts() or len(times.head) != table.rows or table.rows < _FEWEST:
        return
    measured = dict(list(columns.measured(table).items())[:_MOST_INPUTS])
    wanted = table.numbers(target) if target in table.cells else None
    best: tuple[float, bool, Laid, dict[str, Any], Base] | None = None
    for number, laid in enumerate(orders(table, times)):
        made = {name: laid.out(values) for name, values in measured.items()}
        known = next(((each, 1.0) for each in bases if each.column in made), None)
        if known is None and wanted is not None:
            known = nearest(laid, made, laid.out(wanted), target)
        if known is not None and (best is None or known[1] > best[0]):
            best = (known[1], number == 0, laid, made, known[0])
    if best is None:
        return
    _, partial, laid, made, base = best
    windows = Windows(laid, made[base.column], partial=partial)
    for name, values in made.items():
        if name in inputs and name not in (target, base.column):
            found = window(windows, base, name, values)
            if found is not None:
                yield found


# --- the order of time -----------------------------------------------------------------------


def orders(table: Table, times: Times) -> Iterator[Laid]:
    """Row by row, as windows of rows are counted; then step by step, where rows were left out since."""
    import numpy as np

    clock = np.array(times.head)
    order, series = in_time(table, clock)
    if order is None:
        return
    places = np.empty(len(order), dtype="int64")
    places[order] = np.arange(len(order))
    yield Laid(places, series)
    moves = np.diff(clock[order])[np.diff(series) == 0]
    step = float(np.median(moves[moves > 0])) if (moves > 0).any() else 0.0
    if step:
        begins = np.flatnonzero(np.diff(series, prepend=-1))
        number = np.diff(np.append(begins, len(series)))
        steps = np.round((clock[order] - np.repeat(clock[order][begins], number)) / step).astype("int64")
        ends = np.append(begins[1:], len(series)) - 1
        lengths = steps[ends] + 1
        if (steps >= 0).all() and (lengths > 0).all() and len(series) < lengths.sum() <= 2 * len(series):
            starts = np.cumsum(lengths) - lengths
            places = np.empty(len(order), dtype="int64")
            places[order] = np.repeat(starts, number) + np.minimum(steps, np.repeat(lengths, number) - 1)
            yield Laid(places, np.repeat(np.arange(len(lengths)), lengths))


def in_time(table: Table, clock: Any) -> tuple[Any, Any]:
    """The rows, series by series in the order of time, and the series of each; None where they are in no such order."""
    import numpy as np

    every = np.zeros(len(clock), dtype="int64")
    whole = forward(clock, every)
    if whole is not None and (np.diff(clock[whole]) > 0).all():
        return whole, every
    names = [
        name
        for name, cells in table.cells.items()
        if name not in table.times and 2 <= len(set(cells)) <= len(cells) / _GROUPS
    ]
    names = sorted(names, key=lambda name: table.numbers(name) is not None)[:_MOST_GROUPINGS]
    codes = {name: np.unique(np.array(table.cells[name]), return_inverse=True)[1] for name in names}
    found = [codes[name] for name in names]
    found += [codes[a] * (codes[b].max() + 1) + codes[b] for a, b in combinations(names[:4], 2)]
    for code in found:
        made = forward(clock, code)
        if made is not None and len(np.unique(code)) <= len(code) / _GROUPS:
            return made, np.unique(code[made], return_inverse=True)[1]
    return (whole, every) if whole is not None else (None, None)


def forward(clock: Any, code: Any) -> Any:
    """The rows by their series, each from its first to its last; None where time does not run through each."""
    import numpy as np

    order = np.argsort(code, kind="stable")
    inside = np.diff(code[order]) == 0
    moves = np.diff(clock[order])[inside]
    if not len(moves):
        return None
    if (moves > 0).mean() >= _RISING and (moves < 0).sum() <= inside.sum() * (1 - _RISING):
        return order
    if (moves < 0).mean() >= _RISING:
        return np.argsort(code[::-1], kind="stable") * -1 + len(code) - 1
    return None


# --- what the target is ----------------------------------------------------------------------


def nearest(laid: Laid, made: Mapping[str, Any], wanted: Any, target: str) -> tuple[Base, float] | None:
    """The column of which the target is a later row, and the soonest; and in how much of the rows it is."""
    import numpy as np

    rows = np.flatnonzero(np.isfinite(wanted))
    if len(rows) < _FEWEST or wanted[rows].std() == 0:
        return None
    some = rows[np.linspace(0, len(rows) - 1, min(_ASKED, len(rows))).astype("int64")]
    reach = laid.reach()
    later = some[:, None] + np.arange(1, reach + 1)
    inside = later < len(wanted)
    later = np.minimum(later, len(wanted) - 1)
    inside &= laid.series[later] == laid.series[some][:, None]
    best: tuple[Base, float] | None = None
    for name, values in list(made.items())[:_MOST_BASES]:
        if name == target:
            continue
        there = np.where(inside, values[later], np.nan)
        for how in ("", "change", "ratio", "logarithm", "direction"):
            said, allowed = told_by(how, there, values[some][:, None], values, wanted)
            known = np.isfinite(said)
            kept = np.abs(said - wanted[some][:, None]) <= allowed
            with np.errstate(invalid="ignore"):
                share = (kept & known).sum(0) / np.maximum(known.sum(0), 1)
            for at in np.flatnonzero((share >= _SAME) & (known.sum(0) >= 0.5 * len(some))).tolist():
                base = Base(name, at + 1, how)
                if best is None or base.later < best[0].later:
                    right = is_later(laid, values, wanted, rows, base)
                    best = (base, right) if right else best
    return best


def told_by(how: str, there: Any, here: Any, values: Any, wanted: Any) -> tuple[Any, Any]:
    """What the target would be, and how far off rounding may be."""
    import numpy as np

    own, base = half_step(wanted), half_step(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        if how == "":
            return there, own + base + slack(there)
        if how == "change":
            return there - here, own + 2 * base + slack(there)
        if how == "direction":
            return np.where(np.isfinite(there - here), there > here, np.nan), 0.0
        said = there / here
        allowed = own + 2 * base / np.abs(here) + 1e-5
        return (said - 1 if how == "ratio" else np.log(said)), allowed


def is_later(laid: Laid, values: Any, wanted: Any, rows: Any, base: Base) -> float:
    """In how much of all rows; 0 where the one before it says the same, or too few are right."""
    import numpy as np

    rows = rows[rows + base.later < len(wanted)]
    rows = rows[laid.series[rows] == laid.series[rows + base.later]]
    there, here, before = values[rows + base.later], values[rows], values[rows + base.later - 1]
    said, allowed = told_by(base.how, there, here, values, wanted)
    known = np.isfinite(said)
    right = np.abs(said - wanted[rows]) <= allowed
    share = float(right[known].mean()) if known.sum() >= _FEWEST else 0.0
    if base.how == "direction":
        both = min(wanted[rows].mean(), 1 - wanted[rows].mean()) >= 0.05 if len(rows) else False
        return share if both and share >= 0.99 else 0.0
    telling = known & (np.abs(there - before) > 4 * half_step(values) + 2 * slack(there))
    sure = telling.sum() >= _TELLING and right[telling].mean() >= _SAME
    return share if sure and share >= _SAME else 0.0


def half_step(values: Any) -> float:
    """Of the digits in which numbers are written; where they are more than four, a millionth of the spread."""
    import numpy as np

    there = values[np.isfinite(values)]
    step = rounding(there)
    return 0.505 * step if step > 1e-5 else 1e-6 * float(there.std()) if len(there) else 0.0


def slack(values: Any) -> Any:
    """What the last bits of a number in 32 bits are worth."""
    import numpy as np

    return 2e-7 * np.abs(values)


# --- what an input is ------------------------------------------------------------------------


class Windows:
    """What every window of a base says in a few rows, for all inputs. `partial`: where a value is missing, the others count; it was there
    when the input was made where its whole row was left out since."""

    def __init__(self, laid: Laid, values: Any, *, partial: bool) -> None:
        self.laid, self.values, self.partial = laid, values, partial
        self.half, self.reach = half_step(values), laid.reach()
        self.rows = drawn(laid, values, self.reach)
        self._kept: dict[tuple[str, int], Any] = {}

    def said(self, how: str, at: int, far: int, chosen: Any) -> Any:
        """In one row, by windows that are numbered; NaN for what is unknown."""
        import numpy as np

        starts, ends = every_window(2 * far + 1)
        row = int(self.rows[at])
        around = self.values[row - far : row + far + 1]
        if how not in _PURE:
            sign = 1 if how == "highest" else -1
            there = np.isfinite(around) if self.partial else True
            square = np.where(np.tri(2 * far + 1, dtype=bool).T & there, sign * around, -np.inf)
            made = sign * np.maximum.accumulate(square, axis=1)[starts[chosen], ends[chosen]]
            return np.where(np.isfinite(made), made, np.nan)
        key = (how, at)
        if key in self._kept:
            return self._kept[key][chosen]
        every = at < _SHARED
        one, two = (starts, ends) if every else (starts[chosen], ends[chosen])
        sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(around))])
        there = np.concatenate([[0], np.cumsum(np.isfinite(around))])
        number = there[two + 1] - there[one]
        made = sums[two + 1] - sums[one]
        made = made / np.maximum(number, 1) if how == "mean" else made
        made[number < (1 if self.partial else two - one + 1)] = np.nan
        if every:
            self._kept[key] = made
            return made[chosen]
        return made

    def allowed(self, how: str, wanted: Any, own: float, length: Any) -> Any:
        """How far off rounding may be."""
        return own + self.half * (length if how == "sum" else 1) + slack(wanted)


def window(windows: Windows, base: Base, name: str, wanted: Any) -> Ahead | None:
    """The window of the base that an input is, where it reaches to the target and no window that ends before it is the same."""
    import numpy as np

    here, own = np.isfinite(wanted), half_step(wanted)
    if here.sum() < _FEWEST:
        return None
    best: tuple[float, Ahead] | None = None
    safe = 0.0
    for how in ("mean", "sum", "highest", "lowest"):
        for start, end in candidates(how, windows, wanted, own):
            said, of = over(how, windows.laid, windows.values, start, end)
            known = here & (of == end - start + 1)
            if known.sum() < _FEWEST and windows.partial:  # long windows over gaps
                known = here & (of > 0)
            off = windows.allowed(how, wanted, own, end - start + 1)
            right = np.abs(said - wanted) <= off
            share = float(right[known].mean()) if known.any() else 0.0
            if not reaches(start, end, base):
                safe = max(safe, share)
                continue
            last = base.later - 1 if end >= base.later else 0
            moved, _ = over(how, windows.laid, windows.values, start - (end - last), last)
            telling = known & (np.abs(said - moved) > 2 * off)
            if share >= _SAME and telling.sum() >= _TELLING and right[telling].mean() >= _SAME:
                trailing, _ = over(how, windows.laid, windows.values, start - end, 0)
                away = np.abs(trailing - wanted)[known & right]
                far = float(away[np.isfinite(away)].max(initial=0.0))
                made = Ahead(base, name, how, start, end, int(right[known].sum()), int(known.sum()), far)
                if best is None or share > best[0]:
                    best = (share, made)
    return best[1] if best is not None and safe < best[0] - _LESS else None


def reaches(start: int, end: int, base: Base) -> bool:
    """To the target. Where nothing says that the base is of an earlier row, also what begins behind the target, or lies on both sides of its
    own row alike: beside the row before, the row after is what gaps are filled from."""
    own = not _LAG.search(base.column.lower())
    return start <= base.later <= end or (own and (end > base.later or start == -end < 0))


def drawn(laid: Laid, values: Any, reach: int) -> Any:
    """Rows here and there with the fewest gaps around them."""
    import numpy as np

    rows = np.arange(reach, len(values) - reach)
    if not reach or not len(rows):
        return rows[:0]
    rows = rows[(laid.series[rows - reach] == laid.series[rows + reach]) & np.isfinite(values[rows])]
    gaps = np.concatenate([[0], np.cumsum(~np.isfinite(values))])
    parts = [part for part in np.array_split(rows, 2 * _DRAWN) if len(part)]
    return np.array([part[np.argmin(gaps[part + reach + 1] - gaps[part - reach])] for part in parts])


def candidates(how: str, windows: Windows, wanted: Any, own: float) -> list[tuple[int, int]]:
    """Windows that are right in nearly all of a few rows."""
    import numpy as np

    far = windows.reach if how in _PURE else min(windows.reach, _SHORT)
    usable = [at for at, row in enumerate(windows.rows.tolist()) if np.isfinite(wanted[row])][:_DRAWN]
    rows = windows.rows[usable]
    if len(rows) < _DRAWN:
        return []
    if how not in _PURE:  # each is one of the values
        around = windows.values[rows[:, None] + np.arange(-far, far + 1)]
        near = np.abs(around - wanted[rows][:, None]) <= windows.allowed(how, wanted[rows], own, 1)[:, None]
        if near.any(1).sum() < len(rows) - _WRONG:
            return []
    starts, ends = every_window(2 * far + 1)
    chosen: Any = slice(None)
    wrong, known = np.zeros(len(starts), dtype="int8"), np.zeros(len(starts), dtype="int8")
    for number, (at, row) in enumerate(zip(usable, rows.tolist(), strict=True)):
        said = windows.said(how, at, far, chosen)
        length = ends[chosen] - starts[chosen] + 1 if how == "sum" else 1
        off = windows.allowed(how, wanted[row], own, length)
        with np.errstate(invalid="ignore"):
            wrong += np.abs(said - wanted[row]) > off
        known += np.isfinite(said)
        kept = np.flatnonzero(wrong <= (1 if number < _SHARED else _WRONG))
        chosen = kept if isinstance(chosen, slice) else chosen[kept]
        wrong, known = wrong[kept], known[kept]
        if not len(kept):
            return []
    chosen = chosen[known >= _DRAWN // 4]
    order = np.argsort(wrong[known >= _DRAWN // 4], kind="stable")[:_MOST_WINDOWS]
    found = chosen[order]
    return [(int(s) - far, int(e) - far) for s, e in zip(starts[found], ends[found], strict=True)]


@lru_cache(4)
def every_window(width: int) -> tuple[Any, Any]:
    """From where to where each goes, of so many rows."""
    import numpy as np

    starts, ends = np.triu_indices(width)
    return starts, ends


def over(how: str, laid: Laid, values: Any, start: int, end: int) -> tuple[Any, Any]:
    """Of each row, what the window says, and of how many values; NaN where it leaves the series."""
    import numpy as np

    length, count = end - start + 1, len(values)
    first, last = np.arange(count) + start, np.arange(count) + end
    inside = (first >= 0) & (last < count)
    first, last = np.clip(first, 0, count - 1), np.clip(last, 0, count - 1)
    inside &= (laid.series[first] == laid.series) & (laid.series[last] == laid.series)
    there = np.isfinite(values)
    number = np.concatenate([[0], np.cumsum(there)])
    of = np.where(inside, number[last + 1] - number[first], 0)
    if how in _PURE:
        middle = float(values[there].mean())  # sums of what is left are short
        sums = np.concatenate([[0.0], np.cumsum(np.where(there, values - middle, 0.0))])
        said = sums[last + 1] - sums[first]
        said = said / np.maximum(of, 1) + middle if how == "mean" else said + middle * of
    else:
        sign = 1 if how == "highest" else -1
        kept = np.where(there, sign * values, -np.inf)
        wide, done = kept, 1
        while 2 * done <= length:  # the highest of 1, 2, 4, ... rows from each on
            wide = np.maximum(wide, np.append(wide[done:], np.full(done, -np.inf)))
            done *= 2
        said = sign * np.maximum(wide[first], wide[np.clip(last - done + 1, 0, count - 1)])
    return np.where(of > 0, said, np.nan), of
