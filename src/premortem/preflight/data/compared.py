"""Which tables of a dataset are compared with which."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from premortem.preflight.data.tables import Table, is_id
from premortem.profile.between import odd_one
from premortem.profile.facts import Shift

Differ = Callable[[Table, Table], list[Shift]]


class Pair(NamedTuple):
    """Two tables that should be alike."""

    first: Table
    second: Table


def splits(tables: Iterable[Table]) -> Iterator[Pair]:
    """The training table of each dataset, and each of its others."""
    found: dict[tuple[str, bool], list[Table]] = defaultdict(list)
    for table in tables:
        if table.split:
            found[table.series, bool(table.profile.columns)].append(table)
    for same in found.values():
        train = [table for table in same if table.split == "train"]
        for other in same:
            if len(train) == 1 and other.split in {"val", "test"}:
                yield Pair(train[0], other)


def shards(tables: Iterable[Table], differ: Differ) -> Iterator[tuple[Table, list[Shift], int]]:
    """Of several files that differ by a number in their name, the one that is unlike all others, which are alike."""
    found: dict[tuple[str, str, str, tuple[str, ...]], list[Table]] = defaultdict(list)
    for table in tables:
        numberless = re.sub(r"\d+", "#", table.path)
        if numberless != table.path and table.profile.columns:
            found[numberless, table.part, table.split, table.sample.columns].append(table)
    for same in found.values():
        if odd := odd_one(same, differ):
            yield *odd, len(same) - 1


def told(table: Table, shift: Shift) -> bool:
    """Not of a column that tells rows apart."""
    values = [row.values for row in table.sample.kept.values()]
    place = table.sample.columns.index(shift.column) if shift.column in table.sample.columns else -1
    return place < 0 or not is_id(shift.column, [row[place] for row in values])
