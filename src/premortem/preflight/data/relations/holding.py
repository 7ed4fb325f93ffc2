"""Whether the answer stands among what it is predicted from: in the list of its own row and not in those of others."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_FEWEST = 100  # rows
_MOST_ROWS = 20_000
_HELD = 0.95  # of the rows
_CHANCE = 0.5  # of the rows, with the list of the next one
_VARIED = 5  # different answers
_LONGEST = 1000  # entries of a list
_MOST_ENTRIES = 2_000_000  # of all lists together
_TRIED = 0.9  # of the first rows: where fewer hold their answer, the others are not asked


def holding(
    lists: Mapping[str, Sequence[Sequence[Any]]], answers: Mapping[str, Sequence[Any]]
) -> Iterator[tuple[str, str, float, float]]:
    """The list, the answer, how many rows hold theirs, and how many would by chance: in the list of the next row."""
    varied = {name: values[:_MOST_ROWS] for name, values in answers.items() if len(set(values)) >= _VARIED}
    for name, rows in lists.items() if varied else ():
        if len(rows) < _FEWEST or sum(len(row) > 2 for row in rows) < _HELD * len(rows):
            continue
        some = [set(row[:_LONGEST]) for row in rows[:_FEWEST]]
        asked = {
            answer: made
            for answer, made in varied.items()
            if sum(value in row for value, row in zip(made, some, strict=False)) >= _TRIED * len(some)
        }
        longest = max(map(len, rows[:_MOST_ROWS]))
        most = max(_FEWEST, _MOST_ENTRIES // longest)
        sets = [set(row[:_LONGEST]) for row in rows[: min(most, _MOST_ROWS)]] if asked else []
        for answer, values in asked.items():
            made = values[: len(sets)]
            held = sum(value in row for value, row in zip(made, sets, strict=True)) / len(sets)
            if held < _HELD:
                continue
            other = sum(value in row for value, row in zip(made, sets[1:] + sets[:1], strict=True)) / len(
                sets
            )
            if other <= _CHANCE:
                yield name, answer, held, other


def entries(cell: str) -> list[str]:
    """`12 7 44`, `12|7|44`, `[12, 7, 44]`."""
    return [part for part in re.split(r"[\s,;|\[\]\"']+", cell) if part]


def of_records(records: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str, float, float], ...]:
    """Of JSON lines: entries that are lists of names or numbers, and entries that are one of them."""
    if len(records) < _FEWEST:
        return ()
    keys = [key for key in records[0] if all(key in record for record in records)][:64]
    lists: dict[str, list[list[Any]]] = {}
    answers: dict[str, list[Any]] = {}
    for key in keys:
        column = [record[key] for record in records]
        if all(isinstance(v, list) and all(isinstance(e, (str, int)) for e in v[:3]) for v in column):
            lists[key] = [[e for e in v if isinstance(e, (str, int))] for v in column]
        elif all(isinstance(v, (str, int)) and not isinstance(v, bool) for v in column):
            answers[key] = column
    return tuple(holding(lists, answers)) if lists and answers else ()


def of_columns(columns: Mapping[str, Sequence[str]]) -> tuple[tuple[str, str, float, float], ...]:
    """Of tables: columns whose cells are lists, and columns of single entries."""
    lists, answers = {}, {}
    for name, cells in columns.items():
        some = [entries(cell) for cell in cells[:_FEWEST]]
        if len(some) < _FEWEST:
            return ()
        if sum(len(row) > 2 and sum(map(str.isdecimal, row)) > 0.5 * len(row) for row in some) >= _HELD * len(
            some
        ):
            lists[name] = [entries(cell) for cell in cells[:_MOST_ROWS]]
        elif sum(len(row) == 1 for row in some) == len(some):
            answers[name] = cells[:_MOST_ROWS]
    return tuple(holding(lists, answers)) if lists and answers else ()
