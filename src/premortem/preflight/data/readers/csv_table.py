"""CSV and TSV, with the standard library."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from premortem.preflight.data.facts import Look
from premortem.preflight.data.readers import columns
from premortem.preflight.data.readers.around import Around

SUFFIXES = ("csv", "tsv")
_MOST_ROWS = 200_000


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        first = file.readline()
        file.seek(0)
        if "\0" in first:
            yield Look(
                path=relative,
                kind="table",
                problem="it holds zero bytes: it is no text, or was never written",
            )
            return
        mark = max("\t,;|", key=first.count)
        try:
            rows = list(islice(csv.reader(file, delimiter=mark), _MOST_ROWS))
        except csv.Error as error:
            yield Look(path=relative, kind="table", problem=f"it cannot be read ({error})")
            return
    rows = [row for row in rows if row]
    if not rows:
        return
    head = rows[0] if not any(_number(cell) for cell in rows[0]) else [str(i) for i in range(len(rows[0]))]
    body = rows[1:] if head is rows[0] else rows
    if len(set(head)) != len(head):
        head = [f"{name}.{place}" for place, name in enumerate(head)]
    whole = [row for row in body if len(row) == len(head)]
    yield columns.about(
        {name: [row[place].strip() for row in whole] for place, name in enumerate(head)},
        path,
        relative,
        around,
    )


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
