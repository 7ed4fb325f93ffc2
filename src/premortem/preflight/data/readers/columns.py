"""What tables say, whatever they are stored in: labels, files that they name, rows that can be compared."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from premortem.preflight.data import annotations, names, tables
from premortem.preflight.data.data_facts import LABELS, Look
from premortem.preflight.data.guard import Guard
from premortem.preflight.data.readers.around import Around
from premortem.preflight.data.relations import holding

_IDS = {"", "id", "uid", "sample_id", "uuid"}
_MOST_LABELS = 1000
_MOST_MISSING = 50


def about(columns: Mapping[str, Sequence[str]], path: Path, relative: str, around: Around) -> Look:
    """A look at a table given by its columns."""
    rows = len(next(iter(columns.values()), ()))
    labels = next((name for name in columns if name.strip().lower() in LABELS), None)
    counts = Counter(columns[labels]) if labels else Counter[str]()
    filed = next((name for name, cells in columns.items() if _names_files(cells)), None)
    places = [around.place(cell, path.parent) for cell in columns[filed]] if filed else []
    missing = [cell for cell, place in zip(columns[filed], places, strict=True) if not place] if filed else []
    digests: tuple[str, ...] = ()
    if names.split_of(path.name) and "?" not in places:
        # What numbers the rows of a file says nothing about the samples: row 3 of each split is a 3.
        compared = {
            name: cells
            for name, cells in columns.items()
            if name.strip().lower() not in LABELS | _IDS and not _numbers_rows(cells)
        }
        if filed:
            compared = {filed: places}
        if filed or len(compared) >= 2:
            digests = tuple(_digest(cells) for cells in zip(*compared.values(), strict=True))
    guard = Guard()
    found = guard.each(lambda: tables.whole_and_parts(columns, relative))
    notes = guard(lambda: tuple(annotations.of_columns(columns)), ())
    holds = guard(lambda: holding.of_columns(columns), ())
    return Look(
        path=relative,
        kind="table",
        tables=found,
        part=labels or "",
        shape=(rows, len(columns)),
        labels=tuple(counts.most_common()) if len(counts) <= _MOST_LABELS else (),
        missing=tuple(missing[:_MOST_MISSING]),
        named=len(places),
        values=len(missing),
        rows=digests,
        notes=notes,
        holds=holds,
        faults=tuple(guard.faults),
    )


def _numbers_rows(cells: Sequence[str]) -> bool:
    """0, 1, 2 and so on, from wherever it begins."""
    first = cells[0] if cells else ""
    return first.isdecimal() and all(cell == str(int(first) + at) for at, cell in enumerate(cells))


def _names_files(cells: Sequence[str]) -> bool:
    """Nine in ten look like `cat/001.jpg`."""
    some = cells[:1000]
    fit = sum(names.kind(cell) in {"image", "array", "audio", "video", "tensor"} for cell in some)
    return len(some) >= 1 and fit >= 0.9 * len(some)


def _digest(cells: tuple[str, ...]) -> str:
    return hashlib.blake2b("\x1f".join(cells).encode("utf-8", "replace"), digest_size=12).hexdigest()
