"""Which tables of a dataset are compared with which."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from premortem.preflight.data.cells import is_key
from premortem.preflight.data.tables import Table, is_id
from premortem.profile.alone import summarise
from premortem.profile.between import odd_one
from premortem.profile.facts import Shift
from premortem.profile.sample import Sample

_DRAWS = 24  # of groups
_FEWEST_GROUPS = 5  # in all: of fewer words another spelling is as likely as another group
Counted = tuple[str, Mapping[str, int]]  # a table's name, and how often each word stands in a column of it
Differ = Callable[[Table, Table], list[Shift]]


class Pair(NamedTuple):
    """Two tables that should be alike."""

    first: Table
    second: Table


def splits(tables: Iterable[Table]) -> Iterator[Pair]:
    """The training table of each dataset, and each of its others; of a split in numbered files, all of them as one table."""
    found: dict[tuple[str, bool], dict[str, list[Table]]] = defaultdict(lambda: defaultdict(list))
    loose: dict[tuple[str, str, tuple[str, ...]], list[Table]] = defaultdict(list)
    for table in tables:
        if table.split:
            found[numberless(table.series), bool(table.profile.columns)][table.split].append(table)
        elif table.sample.columns:
            loose[beside(table)].append(table)
    for by_split in found.values():
        for split in ("val", "test"):
            others = by_split[split]
            # part-0.npy, part-1.npy and val.npy: what has no name for its split is what is trained on.
            train = together(by_split["train"] or (loose[beside(others[0])] if others else []))
            one = together(others)
            for other in others if one is None else [one]:
                if train is not None:
                    yield Pair(train, other)


def groupings(first: Table, second: Table) -> Iterator[tuple[str, Sequence[str], Sequence[str]]]:
    """Columns by which the rows were divided: no value of them stands in both tables (of a sorted file the one at which it was cut), and each
    names several rows. Then what is one in a group (the town of a shop, the age of a patient) is no more frequent than its groups."""
    for name, one in first.cells.items():
        two = second.cells.get(name)
        if two is None:
            continue
        here, there = first.values(name), second.values(name)
        several = 2 * len(here) <= len(one) and 2 * len(there) <= len(two)
        if several and len(here) + len(there) >= _FEWEST_GROUPS:
            cut = len(here & there)
            if not cut or (cut == 1 and all(runs(c) == len(set(c)) for c in (one, two))):
                yield name, one, two


def runs(cells: Sequence[str]) -> int:
    return sum(1 for _ in groupby(cells))


def likewise(first: Table, second: Table) -> Iterator[Any]:
    """Places of rows of the first that were chosen as the rows of the second were: as many other groups, or another stretch of the time."""
    import numpy as np

    for name, one, _ in groupings(first, second):
        groups, places = np.unique(np.array(one), return_inverse=True)
        rng = np.random.default_rng(0)
        for _ in range(_DRAWS):
            yield np.flatnonzero(np.isin(places, rng.permutation(len(groups))[: len(second.values(name))]))
    for here, there in at_a_time(first, second):
        yield from np.array_split(np.argsort(here, kind="stable"), max(2, len(here) // len(there)))


def at_a_time(first: Table, second: Table) -> Iterator[tuple[Any, Any]]:
    """Times, or other numbers, by which the rows were divided: all of the one table are before all of the other."""
    import numpy as np

    for name in first.cells:
        made, more = moments(first, name), moments(second, name) if name in second.cells else None
        if made is None or more is None or len(first.values(name)) < _FEWEST_GROUPS:
            continue
        here, there = np.array(made), np.array(more)
        if np.isfinite(here).all() and (here.max() <= there.min() or there.max() <= here.min()):
            yield here, there


def moments(table: Table, name: str) -> Sequence[float] | None:
    """The numbers of a column, or its times where they are written as dates."""
    times = table.times.get(name)
    return times.head if times is not None and len(times.head) == table.rows else table.numbers(name)


def beside(table: Table) -> tuple[str, str, tuple[str, ...]]:
    return table.path.rpartition("/")[0], table.part, table.sample.columns


def numberless(name: str) -> str:
    return re.sub(r"\d+", "*", name)


def together(tables: Sequence[Table]) -> Table | None:
    """Files that differ by a number in their name as one; None for what does not belong together."""
    if len(tables) < 2:
        return tables[0] if tables else None
    first = tables[0]
    if len({(numberless(t.path), t.part, t.sample.columns, t.profile.kind) for t in tables}) > 1:
        return None
    sample = Sample(first.sample.columns)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for table in sorted(tables, key=lambda table: table.path):
        for code, row in table.sample.kept.items():
            sample.add(code, row._replace(place=sample.rows + row.place))
        sample.rows += table.rows
        sample.spans(table.sample.low, table.sample.high, table.sample.missing)
        for column, values in table.categories.items():
            counts[column].update(values)
    path = numberless(first.path)
    profile = summarise(sample, path, source=path, kind=first.profile.kind, dtype=first.profile.dtype)
    return replace(
        first,
        path=path,
        rows=sum(table.rows for table in tables),
        read=sum(table.read for table in tables),
        profile=profile if first.profile.columns else first.profile,
        categories={column: dict(values) for column, values in counts.items()},
        sample=sample,
        times={},
        words={},
        codes={},
        cells={},
    )


def shards(tables: Iterable[Table], differ: Differ) -> Iterator[tuple[Table, list[Shift], int]]:
    """Of several files that differ by a number in their name, the one that is unlike all others, which are alike."""
    for same in numbered(tables):
        if odd := odd_one(same, differ):
            yield *odd, len(same) - 1


def numbered(tables: Iterable[Table]) -> Iterator[list[Table]]:
    """Files of one split that differ by a number in their name."""
    found: dict[tuple[str, str, str, tuple[str, ...]], list[Table]] = defaultdict(list)
    for table in tables:
        if numberless(table.path) != table.path and table.profile.columns:
            found[numberless(table.path), table.part, table.split, table.sample.columns].append(table)
    yield from found.values()


def reportable(table: Table, shift: Shift) -> bool:
    """Not of a column that tells rows apart."""
    values = [row.values for row in table.sample.kept.values()]
    place = table.sample.columns.index(shift.column) if shift.column in table.sample.columns else -1
    return place < 0 or not (is_key(shift.column) or is_id(shift.column, [row[place] for row in values]))
