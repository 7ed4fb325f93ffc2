"""Whole numbers whose thousands are separated by a mark that a reader takes for the decimal mark: `1.234` beside `345`. An experiment.

What three digits behind a point are, no cell says. The column does, where all of this holds:

- every cell with a mark has exactly three digits behind it, the zeros at the end are kept, and none begins with a zero;
- read as thousands these cells go on where the whole numbers below 1000 end, as densely as those are there; or they are distributed as the
  whole numbers from 1000 on are that other rows have;
- as they stand they lie far below the whole numbers.

Prices and measures with three fixed decimals have no whole number beside them, and numbers that a program printed lose the zeros at their end.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from premortem.preflight.data.cells import is_key
from premortem.preflight.data.relations import columns, units
from premortem.preflight.data.tables import Table, is_id

_FEWEST = 20  # whole numbers, and numbers with a mark that are compared with whole ones
_FEWEST_MARKED = 10
_SHARE = 0.01  # of the numbers have a mark
_ENDS = 10  # numbers on each side of 1000 that are held against each other
_EVEN = (
    5.0  # times as dense as on the other side: ten numbers each differ that much by chance once in a thousand
)
_MEET = 1.25  # times the largest number below 1000: the smallest above
_FAR = 5.0  # times smaller than the whole numbers, as they stand
_LIKE = 0.15  # of Kolmogorov and Smirnov: distributed alike
_CHANCE = 1.63  # ... which chance exceeds once in 100, by the root of the number of rows
_WORDS = 0.02  # of the cells are none of it
_EMPTY = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})
_WHOLE = re.compile(r"-?(0|[1-9]\d*)$")


class Thousands(NamedTuple):
    rows: int  # with a mark
    of: int
    example: str
    plain: str  # a number without one
    where: tuple[str, tuple[str, ...]] | None  # a column and its words that these rows have


class Parsed(NamedTuple):
    """Cells as numbers, with the mark read as one between thousands; NaN for what is not of the kind."""

    marked: Any
    whole: Any


def within(table: Table, column: str, mark: str) -> Thousands | None:
    """Of one table: in the whole of a column, or in the rows that another column names."""
    if column in table.times or is_key(column) or not columns.counts():
        return None
    cells = table.cells[column]
    found = parsed(cells, mark)
    if found is None or is_id(column, None):
        return None
    sources = {name: made for name, made in columns.sources(table).items() if name != column}
    where = next((w for name, made in sources.items() if (w := named(name, made, found))), None)
    rows = None if where is None else chosen(sources[where[0]], where[1])
    if fits(found) or (rows is not None and continues(found, rows)):
        return said(cells, found, where)
    return None


def across(tables: Sequence[Table], column: str, mark: str) -> tuple[Table, Thousands] | None:
    """Of files with the same columns: one of them has marks, and the others have whole numbers of any size."""
    import numpy as np

    for table in tables:
        own = parsed(table.cells[column], mark)
        if own is None or column in table.times or is_key(column) or is_id(column, None):
            continue
        rest = [cell for other in tables if other is not table for cell in other.cells[column]]
        if any(map(marks(mark).match, rest[:MOST_CELLS])):
            continue
        plain = numbers(rest, mark)
        if plain is not None and not (own.whole >= 1000).any():
            both = Parsed(
                np.concatenate([own.marked, np.full(len(rest), np.nan)]),
                np.concatenate([own.whole, plain.whole]),
            )
            if fits(both):
                return table, said(table.cells[column], own, None)
    return None


MOST_CELLS = 100_000


def marks(mark: str) -> re.Pattern[str]:
    return re.compile(rf"-?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+$")


def parsed(cells: Sequence[str], mark: str) -> Parsed | None:
    """None unless enough cells have the mark, the zeros at their end are kept, and all others are whole numbers."""
    if not any(mark in cell for cell in cells):
        return None
    found = numbers(cells, mark)
    if found is None:
        return None
    import numpy as np

    made = found.marked[np.isfinite(found.marked)]
    count = len(made) + int(np.isfinite(found.whole).sum())
    if len(made) < max(_FEWEST_MARKED, _SHARE * count):
        return None
    zeros = int((made % 10 == 0).sum())
    if zeros < max(1.0, 0.1 * len(made) - 3 * (0.09 * len(made)) ** 0.5):
        return None  # a program that prints 1.2 for 1.200
    return found


def numbers(cells: Sequence[str], mark: str) -> Parsed | None:
    import numpy as np

    pattern = marks(mark)
    marked, whole, words, filled = np.full(len(cells), np.nan), np.full(len(cells), np.nan), 0, 0
    for at, cell in enumerate(map(str.strip, cells)):
        if cell.lower() in _EMPTY:
            continue
        filled += 1
        if pattern.match(cell):
            marked[at] = abs(int(cell.replace(mark, "")))
        elif _WHOLE.match(cell) and len(cell) < 16:
            whole[at] = abs(int(cell))
        elif any(map(str.isdigit, cell)):
            return None  # a number of another kind: 12.5, 0.250, 1.234,56, 2024-01-01
        else:
            words += 1
    return Parsed(marked, whole) if words <= _WORDS * filled else None


def fits(found: Parsed) -> bool:
    """Whether read as thousands the numbers fit the whole ones, and do not as they stand."""
    import numpy as np

    marked, whole = found.marked[np.isfinite(found.marked)], found.whole[found.whole > 0]
    if len(whole) < _FEWEST or _FAR * np.median(marked / 1000) > np.median(whole):
        return False
    large = whole[whole >= 1000]
    if len(large) == 0:
        return go_on(whole, marked)
    if min(len(large), len(marked)) < _FEWEST:
        return False
    chance = (1 / len(large) + 1 / len(marked)) ** 0.5
    return bool(units.distance(marked, large) <= min(_LIKE, _CHANCE * chance))


def continues(found: Parsed, rows: Any) -> bool:
    """The same of the rows that a column names, in which each number from 1000 on has a mark."""
    return fits(Parsed(found.marked[rows], found.whole[rows]))


def go_on(small: Any, large: Any) -> bool:
    """Numbers up to 1000 and from there on are one heap: there is no gap and no step at 1000."""
    import numpy as np

    small, large = np.sort(small)[::-1], np.sort(large)
    number = min(_ENDS, len(small), len(large)) - 1
    if large[0] > _MEET * small[0]:
        return False
    below, above = large[0] - small[number], large[number] - small[0]
    return bool(below <= _EVEN * above and above <= _EVEN * below)


def named(name: str, cells: Sequence[str], found: Parsed) -> tuple[str, tuple[str, ...]] | None:
    """The words of a column that the rows with a mark have, where no row with such a word has a thousand without one, and others have."""
    import numpy as np

    made = np.array(cells)
    odd = set(made[np.isfinite(found.marked)].tolist())
    if not odd or len(odd) > 0.5 * len(set(cells)):
        return None
    large = set(made[found.whole >= 1000].tolist())
    if odd & large or not large:
        return None
    return name, tuple(sorted(odd))


def chosen(cells: Sequence[str], words: Sequence[str]) -> Any:
    import numpy as np

    return np.flatnonzero(np.isin(np.array(cells), list(words)))


def said(cells: Sequence[str], found: Parsed, where: tuple[str, tuple[str, ...]] | None) -> Thousands:
    import numpy as np

    marked, whole = np.flatnonzero(np.isfinite(found.marked)), np.flatnonzero(found.whole > 0)
    plain = cells[whole[len(whole) // 2]].strip() if len(whole) else ""
    count = len(marked) + int(np.isfinite(found.whole).sum())
    return Thousands(len(marked), count, cells[marked[0]].strip(), plain, where)


def families(tables: Sequence[Table]) -> list[list[Table]]:
    """Files with the same columns."""
    found: dict[tuple[str, ...], list[Table]] = {}
    for table in tables:
        found.setdefault(table.columns, []).append(table)
    return [made for head, made in found.items() if len(made) > 1 and len(head) > 1]
