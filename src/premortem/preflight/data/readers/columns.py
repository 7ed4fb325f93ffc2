"""What tables say, whatever they are stored in: labels, files that they name, rows that can be compared."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from premortem.preflight.data import annotations, names, tables
from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers.around import Around

LABELS = {"label", "labels", "class", "target", "category", "class_id", "label_id", "class_name", "y"}
_IDS = {"", "id", "index", "idx", "uid", "row", "unnamed: 0", "row_id", "sample_id", "uuid"}
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
        compared = {n: c for n, c in columns.items() if n.strip().lower() not in LABELS | _IDS}
        if filed:
            compared = {filed: places}
        if filed or len(compared) >= 2:
            digests = tuple(_digest(cells) for cells in zip(*compared.values(), strict=True))
    table = tables.of_columns(columns, relative)
    parts = tables.split_by_column(table, columns) if table is not None else []
    return Look(
        path=relative,
        kind="table",
        tables=tuple([table, *parts] if table is not None else parts),
        part=labels or "",
        shape=(rows, len(columns)),
        labels=tuple(counts.most_common()) if len(counts) <= _MOST_LABELS else (),
        missing=tuple(missing[:_MOST_MISSING]),
        named=len(places),
        values=len(missing),
        rows=digests,
        notes=annotations.of_columns(columns),
    )


def _names_files(cells: Sequence[str]) -> bool:
    """Nine in ten look like `cat/001.jpg`."""
    some = cells[:1000]
    fit = sum(names.kind(cell) in {"image", "array", "audio", "video", "tensor"} for cell in some)
    return len(some) >= 1 and fit >= 0.9 * len(some)


def _digest(cells: tuple[str, ...]) -> str:
    return hashlib.blake2b("\x1f".join(cells).encode("utf-8", "replace"), digest_size=12).hexdigest()
