"""Tables of an SQLite database, with the standard library; nothing in it is run, and nothing is written."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers import columns
from premortem.preflight.data.readers.around import Around, Damaged

SUFFIXES = ("db", "sqlite", "sqlite3")
_MOST_TABLES = 32
_MOST_ROWS = 200_000
_HEAD = b"SQLite format 3\0"


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    with path.open("rb") as file:
        if file.read(len(_HEAD)) != _HEAD:
            return  # `.db` is the ending of other things too
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)) as db:
            found = db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
            for (name,) in found.fetchmany(_MOST_TABLES):
                look = _table(db, str(name), path, relative, around)
                if look is not None:
                    yield look
    except sqlite3.DatabaseError as error:
        raise Damaged(f"it cannot be read ({error})") from error


def _table(db: sqlite3.Connection, name: str, path: Path, relative: str, around: Around) -> Look | None:
    quoted = name.replace('"', '""')
    cursor = db.execute(f'SELECT * FROM "{quoted}"')  # noqa: S608 - a name that the database itself gave
    head = [str(column[0]) for column in cursor.description]
    rows = cursor.fetchmany(_MOST_ROWS)
    plain = [at for at in range(len(head)) if not any(isinstance(row[at], bytes) for row in rows[:100])]
    if not rows or not plain:
        return None
    cells = {head[at]: ["" if row[at] is None else str(row[at]) for row in rows] for at in plain}
    look = columns.about(cells, path, relative, around)
    return replace(look, part=name, tables=tuple(replace(t, part=t.part or name) for t in look.tables))
