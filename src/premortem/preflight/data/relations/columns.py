"""A table as numbers: each column of numbers whole and in the order of the file, and parts of the rows by words or by place."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from premortem.preflight.data.cells import is_key
from premortem.preflight.data.tables import Table, is_id, numbers_in

VARIED = 20  # different values of a column that measures something
FEWEST = 30  # rows of a part
_CHUNKS = 24
_IN_ORDER = 0.8  # of the steps from row to row go one way: of rows in no order, half do
_MOST_GROUPS = 60
_CLOCK = 24  # different times: of as many numbers that are none, two in five have more than 59 behind their hundreds


def counts() -> bool:
    """Whether there is numpy to count with; without it these relations are not asked for."""
    try:
        import numpy  # noqa: F401, ICN001
    except ImportError:
        return False
    return True


def measured(table: Table) -> dict[str, Any]:
    """Columns that measure something, as arrays; NaN where a cell is empty. No ids, no keys, no times."""
    return dict(table.once("measured", "", lambda: _measured(table))) if counts() else {}


def _measured(table: Table) -> dict[str, Any]:
    import numpy as np

    found = {}
    for name in table.cells:
        values = table.numbers(name)
        if values is None or name in table.times or is_key(name) or is_id(name, values):
            continue
        made = np.array(values, dtype="float64")
        if len(np.unique(made[np.isfinite(made)])) > VARIED:
            found[name] = made
    return found


def is_clock(values: Any) -> bool:
    """Times of the day that are written as numbers: 905, 1430. From 1359 to 1400 it is a minute, so that no difference of two is one."""
    import numpy as np

    made = np.unique(values[np.isfinite(values)])
    whole = len(made) >= _CLOCK and made[0] >= 0 and 1200 <= made[-1] <= 2400 and bool((made % 1 == 0).all())
    return bool(whole and (made % 100 < 60).all())


def is_in_order(values: Any) -> bool:
    """Whether the rows are sorted by a column, or stand in blocks that have one value each: stretches of the file differ in it by nature."""
    import numpy as np

    steps = np.diff(values[np.isfinite(values)])
    return len(steps) > 0 and bool(max((steps >= 0).mean(), (steps <= 0).mean()) >= _IN_ORDER)


def words(table: Table) -> dict[str, Sequence[str]]:
    """Columns of a few words or codes, by which rows fall into groups."""
    found = {}
    for name, cells in table.cells.items():
        counts = Counter(cells)
        if 2 <= len(counts) <= _MOST_GROUPS and name not in table.times:
            found[name] = cells
    return found


def sources(table: Table) -> dict[str, Sequence[str]]:
    """Likewise, those that may say where a row comes from: words, and numbers that are keys. A quantity has its own reasons."""
    return {n: c for n, c in words(table).items() if is_key(n) or numbers_in(c) is None}


def groups(cells: Sequence[str]) -> dict[str, Any]:
    """The rows of each word that comes often enough."""
    if not counts():
        return {}
    import numpy as np

    made = np.array(cells)
    found = {word: np.flatnonzero(made == word) for word in sorted(set(cells))}
    return {word: rows for word, rows in found.items() if len(rows) >= FEWEST}


def chunks(count: int) -> Iterator[Any]:
    """Stretches of the file, one after the other."""
    if not counts():
        return
    import numpy as np

    number = min(_CHUNKS, count // FEWEST)
    if number >= 4:
        yield from np.array_split(np.arange(count), number)
