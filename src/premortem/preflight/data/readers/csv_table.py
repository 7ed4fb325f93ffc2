"""CSV and TSV, with the standard library."""

import csv
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TextIO

from premortem.amounts import is_number
from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers import columns
from premortem.preflight.data.readers.around import Around, Damaged

SUFFIXES = ("csv", "tsv")
_MOST_ROWS = 200_000
_MOST_CHARACTERS = 4 << 20  # of a line
_MOST_IN_ALL = 256 << 20


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        first = file.readline(_MOST_CHARACTERS)
        file.seek(0)
        if "\0" in first:
            raise Damaged("it holds zero bytes: it is not text, or was never written")
        mark = max("\t,;|", key=first.count)
        try:
            rows = list(islice(csv.reader(_lines(file), delimiter=mark), _MOST_ROWS))
            cut = bool(file.readline(1))
        except csv.Error as error:
            raise Damaged(f"it cannot be read ({error})") from error
    rows = [row for row in rows if row]
    if not rows:
        return
    head = rows[0] if not any(is_number(cell) for cell in rows[0]) else [str(i) for i in range(len(rows[0]))]
    body = rows[1:] if head is rows[0] else rows
    if len(set(head)) != len(head):
        head = [f"{name}.{place}" for place, name in enumerate(head)]
    # As pandas and DictReader have it: cells that are missing at the end are empty, and those that are empty beyond the header are none.
    width = len(head)
    body = [row if len(row) == width else fitted(row, width) for row in body]
    whole = [row for row in body if len(row) == len(head)]
    again = headers_again(rows[0], whole) if head is rows[0] else 0
    odd = [row for row in body if len(row) != len(head)]
    look = columns.about(
        {name: trimmed([row[place] for row in whole]) for place, name in enumerate(head)},
        path,
        relative,
        around,
    )
    yield replace(
        look,
        heads=again,
        cut=cut,
        widths=(len(odd), len(body), len(head), mark.join(odd[0])[:80]) if odd else None,
    )


def fitted(row: list[str], width: int) -> list[str]:
    if len(row) < width:
        return [*row, *[""] * (width - len(row))]
    return row if any(cell.strip() for cell in row[width:]) else row[:width]


def headers_again(head: list[str], rows: list[list[str]]) -> int:
    """How often the header stands among the rows: only where it is a word in a column of numbers. A list of words has no header, and its
    first word comes again by nature."""
    again = sum(row == head for row in rows)
    rest = [row for row in rows[:1000] if row != head] if again else []
    measured = any(
        all(is_number(row[place]) or not row[place].strip() for row in rest)
        and any(is_number(row[place]) for row in rest)
        for place in range(len(head))
    )
    return again if measured else 0


def trimmed(cells: list[str]) -> list[str]:
    """Without spaces around them, unless only some words have them: a script that does not strip them takes `a` and `a ` for two."""
    made = [cell.strip() for cell in cells]
    if made == cells:
        return cells
    padded = {a != b for a, b in zip(cells, made, strict=True) if b and not is_number(b)}
    return cells if len(padded) == 2 else made


def _lines(file: TextIO) -> Iterator[str]:
    """As many as are read, and none without an end. Raises csv.Error."""
    left = _MOST_IN_ALL
    while left > 0 and (line := file.readline(_MOST_CHARACTERS)):
        if len(line) == _MOST_CHARACTERS and not line.endswith("\n"):
            raise csv.Error(f"a line has more than {_MOST_CHARACTERS:,} characters")
        left -= len(line)
        yield line
