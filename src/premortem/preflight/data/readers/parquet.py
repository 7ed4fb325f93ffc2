"""Parquet, where pyarrow is present."""

import importlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers import columns
from premortem.preflight.data.readers.around import Around, Damaged, MissingLibrary

SUFFIXES = ("parquet",)
_MOST_ROWS = 200_000
_MOST_WORDS = 1000


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingLibrary("pyarrow") from None
    try:
        with parquet.ParquetFile(path) as file:
            rows = file.metadata.num_rows
            plain = [field.name for field in file.schema_arrow if not arrow.types.is_nested(field.type)]
            if not rows or not plain or rows > _MOST_ROWS:
                yield Look(path=relative, kind="table", shape=(rows, len(plain)))
                return
            table = file.read(columns=plain)
    except arrow.ArrowInvalid as error:
        raise Damaged(f"it is damaged or cut off ({str(error)[:120]})") from error
    codes = {name: words for name in plain if (words := _numbered(arrow, table[name]))}
    cells = {name: [str(value) for value in table[name].to_pylist()] for name in plain}
    look = columns.about(cells, path, relative, around)
    yield replace(look, tables=tuple(replace(each, codes=codes) for each in look.tables))


def _numbered(arrow: Any, column: Any) -> tuple[str, ...]:
    """The words of a dictionary column, in the order of their numbers."""
    if not arrow.types.is_dictionary(column.type) or not column.num_chunks:
        return ()
    words = column.chunk(0).dictionary
    return tuple(map(str, words.to_pylist())) if len(words) <= _MOST_WORDS else ()
