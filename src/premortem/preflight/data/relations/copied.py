"""Arrays that were made from a table, as their contents say: row by row they hold its numbers, and the codes of its words."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from premortem.preflight.data.data_facts import Coded, Copied
from premortem.preflight.data.relations import columns
from premortem.preflight.data.tables import Table, numbers_in

_FEWEST = 50  # rows
_MADE = 0.6  # of the rows agree: then one was made from the other
_DIFFER = 0.02  # of the rows do not
_SAME = 1e-3  # spreads: what a type with few bits may round
_MOST_COLUMNS = 64
_PURE = 0.98  # of the rows of a code have one word
_MOST_CLASSES = 60
_IN_A_ROW = (
    4.0  # wrong rows that stand together on average: a part of the rows, and no guess that is sometimes off
)
# Names of what was made from a column to be another: what a model says of it, and what was cleaned.
_ANOTHER = re.compile(
    r"(^|[^a-z])(pred|output|clean|imput|fill|smooth|denois|filter|aug|nois|corrupt|fixed|repair|correct|estimat|recon|adjust|result|logit|prob|"
    r"forecast|fitted|hat([^a-z]|$)|winsor|interpol|resid|mask)"
)


def made_from(
    held: Mapping[str, Any], tables: Sequence[Table]
) -> Iterator[tuple[str, Table, list[tuple[str, Any, Any]]]]:
    """Arrays of as many rows as a table, with the columns of which most rows agree: the column, its numbers, and those of the array
    brought to the same unit."""
    import numpy as np

    for name, array in held.items():
        if array.dtype.kind not in "fiu" or not 1 <= array.ndim <= 2 or len(array) < _FEWEST:
            continue
        wide = array.reshape(len(array), -1)
        if wide.shape[1] > 4 * _MOST_COLUMNS:
            continue
        for table in tables:
            if table.rows != len(array) or "=" in table.part:
                continue
            numbers = {c: np.array(v) for c, v in columns.measured(table).items()}
            found = []
            for at in range(min(wide.shape[1], _MOST_COLUMNS)):
                made = wide[:, at].astype("float64")
                for column, values in numbers.items():
                    back = converted(made, values, np)
                    if back is not None:
                        found.append((column, values, back))
                        break
            if found and len(found) >= 0.5 * min(wide.shape[1], _MOST_COLUMNS):
                yield name, table, found


def converted(made: Any, values: Any, np: Any) -> Any:
    """The numbers of the array in the unit of the table, where most rows agree then; None where they do not."""
    finite = np.isfinite(values) & np.isfinite(made)
    if finite.sum() < _FEWEST:
        return None
    spread = float(values[finite].std())
    if spread <= 0 or float(made[finite].std()) <= 0:
        return None
    if (np.abs(made - values)[finite] <= _SAME * spread).mean() >= _MADE:
        return made
    # A straight line that most rows lie on: the slope of the middle pair, then of the half that fits best.
    x, y = made[finite], values[finite]
    step = len(x) // 2
    apart = x[step : 2 * step] - x[:step]
    slopes = (y[step : 2 * step] - y[:step])[apart != 0] / apart[apart != 0]
    if not len(slopes):
        return None
    slope = float(np.median(slopes))
    start = float(np.median(y - slope * x))
    near = np.argsort(np.abs(y - slope * x - start))[: len(x) // 2]
    if x[near].std() <= 0:
        return None
    slope, start = (float(v) for v in np.polyfit(x[near], y[near], 1))
    back = slope * made + start
    return back if (np.abs(back - values)[finite] <= _SAME * spread).mean() >= _MADE else None


def differing(held: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[Copied]:
    """Arrays that were made from a table and differ from it in a part of the rows. One column alone may be what a model says of another:
    then those rows must stand together."""
    if not columns.counts():
        return
    import numpy as np

    usable = [t for t in tables if t.cells and t.rows >= _FEWEST]
    held = {name: array for name, array in held.items() if not _ANOTHER.search(name.lower())}
    for name, table, found in made_from(held, usable):
        for column, values, back in found:
            finite = np.isfinite(values) & np.isfinite(back)
            wrong = finite & (np.abs(back - values) > 3 * _SAME * float(values[finite].std()))
            # What lies at the ends of the array, or is one number, was cut or filled on purpose.
            kept = wrong & (back > back[finite].min()) & (back < back[finite].max())
            several = len(np.unique(back[kept])) > 0.2 * kept.sum()
            runs = int((np.diff(kept.astype("int8"), prepend=0) == 1).sum())
            is_part = len(found) > 1 or kept.sum() >= _IN_A_ROW * runs
            if kept.sum() >= max(5, _DIFFER * len(values)) and several and is_part:
                at = int(np.argmax(kept))
                yield Copied(
                    array=name,
                    table=table.shown,
                    path=table.path,
                    rows=int(kept.sum()),
                    of=len(values),
                    column=column,
                    example=(at, float(values[at]), float(back[at])),
                )
                break


def coded(held: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[Coded]:
    """Codes that go with the words of a table of as many rows, each with its own."""
    if not columns.counts():
        return
    for name, array in held.items():
        if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) < _FEWEST:
            continue
        codes = array.tolist()
        if not 3 <= len(set(codes)) <= _MOST_CLASSES or min(codes) < 0:
            continue
        for table in (t for t in tables if t.cells and t.rows == len(codes) and "=" not in t.part):
            for column, cells in table.cells.items():
                words = set(cells)
                if len(words) != len(set(codes)) or numbers_in(cells) is not None:
                    continue
                pairs = Counter(zip(cells, codes, strict=True))
                first = {word: max((n, c) for (w, c), n in pairs.items() if w == word) for word in words}
                if (
                    len({code for _, code in first.values()}) == len(words)
                    and sum(number for number, _ in first.values()) >= _PURE * len(codes)
                    and not is_natural({w: c for w, (_, c) in first.items()}, cells)
                ):
                    yield Coded(
                        array=name,
                        table=table.shown,
                        column=column,
                        words=tuple(sorted((w, c) for w, (_, c) in first.items())),
                    )


def is_natural(codes: Mapping[str, int], cells: Sequence[str]) -> bool:
    """In the order of the alphabet, of the first rows, or of how often they come: numbered by a rule, and not by any list."""
    numbered = sorted(codes, key=lambda word: codes[word])
    counts = Counter(cells)
    often = [counts[word] for word in numbered]
    return numbered in (sorted(codes), list(dict.fromkeys(cells))) or often in (
        sorted(often),
        sorted(often, reverse=True),
    )
