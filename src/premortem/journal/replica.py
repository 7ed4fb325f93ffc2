"""A journal that is written from rows of another one, part by part: the copy of a run that goes on elsewhere.

    unsent(path, sent)        the rows that the journal has and the copy does not, as parts of a bounded size
    Replica(path).add(…)      a part, whole or not at all: its rows, and how many parts are there for good, are one transaction

Rows of most tables are only ever added, so a number says how far a copy is; each row keeps its number, so that a part can be added
twice, or once more when it has grown. Of those that are replaced (`meta`, `latest`) the checksum of each value says whether it has
changed.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from premortem.errors import JournalError
from premortem.files import private
from premortem.journal import opening
from premortem.journal.connection import connect
from premortem.journal.write import create, undisturbed

Part = dict[str, list[list[Any]]]  # table → rows, as its columns have them

# The columns of each table; of what is only added, the number of the row is the first.
ADDED = {
    "steps": "rowid, step, optimizer, time, loss, grad_norm, lr",
    "findings": "rowid, time, step, code, record",
    "events": "rowid, time, step, kind, record",
    "faults": "rowid, time, unit, error",
    "series": "rowid, step, time, name, value",
    "layers": "rowid, step, what, record",
}
REPLACED = {"meta": "key, value", "latest": "name, step, record", "sources": "path, text"}
ROWS = 20_000  # of a part: some hundred kilobytes once compressed
_COLUMNS = {**ADDED, **REPLACED}
_INSERT = {
    table: f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({', '.join('?' * len(columns.split()))})"  # noqa: S608 - of the schema
    for table, columns in _COLUMNS.items()
}
_FETCHED = "CREATE TABLE IF NOT EXISTS fetched (parts INTEGER NOT NULL)"


class Sent:
    """How much of a journal was sent."""

    def __init__(
        self, last: Mapping[str, int] | None = None, values: Mapping[str, str] | None = None
    ) -> None:
        self.last = dict(last or {})  # table → the number of its last row
        self.values = dict(values or {})  # "table key" → checksum

    def to_json(self) -> dict[str, Any]:
        return {"last": self.last, "values": self.values}


def unsent(path: Path, sent: Sent) -> Iterator[tuple[Part, Sent]]:
    """Part by part, each with how much was sent after it. Raises JournalError, OSError or sqlite3.Error."""
    while True:
        # Not in the middle of a fork, and not for longer than one part takes to read.
        with undisturbed():
            opened = opening.Opened(path)
            try:
                part, after = _next(opened, sent)
            finally:
                opened.close()
        if not part:
            return
        yield part, after
        sent = after


def _next(opened: opening.Opened, sent: Sent) -> tuple[Part, Sent]:
    part: Part = {}
    after = Sent(sent.last, sent.values)
    left = ROWS
    for table, columns in ADDED.items():
        if left <= 0:
            break
        query = f"SELECT {columns} FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT ?"  # noqa: S608 - of the schema
        rows = list(opened.rows(query, (sent.last.get(table, 0), left)))
        if rows:
            part[table] = [list(row) for row in rows]
            after.last[table] = rows[-1][0]
            left -= len(rows)
    for table, columns in REPLACED.items():
        for row in opened.rows(f"SELECT {columns} FROM {table}"):  # noqa: S608 - of the schema
            key = f"{table} {row[0]}"
            checksum = hashlib.sha256(repr(row[1:]).encode()).hexdigest()[:16]
            if after.values.get(key) != checksum:
                after.values[key] = checksum
                part.setdefault(table, []).append(list(row))
    return part, after


class Replica:
    """The copy. Raises JournalError for what is not a part of a journal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        private.make_folder(path.parent)
        if not path.exists():
            create(path, {}, mode="DELETE")
        self._connection = connect(path, "rw")
        try:
            self._connection.execute(_FETCHED)
        except sqlite3.Error:
            self.close()
            raise

    @property
    def parts(self) -> int:
        """How many it has for good."""
        ((number,),) = self._connection.execute("SELECT coalesce(max(parts), 0) FROM fetched")
        return int(number)

    def add(self, part: Any, parts: int) -> None:
        """Its rows; and so many parts are there for good now."""
        rows = _checked(part)
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            for table, values in rows:
                self._connection.execute(_INSERT[table], values)
            if parts > self.parts:
                self._connection.execute("INSERT INTO fetched VALUES (?)", (parts,))

    def close(self) -> None:
        self._connection.close()


def _checked(part: Any) -> list[tuple[str, list[Any]]]:
    """A part may come from anywhere: nothing but values for the tables of a journal is taken from it."""
    if not isinstance(part, dict):
        raise JournalError("a part of this run is not one that premortem has written")
    found: list[tuple[str, list[Any]]] = []
    for table, rows in part.items():
        if table not in _COLUMNS or not isinstance(rows, list):
            raise JournalError(f"a part of this run has rows for `{str(table)[:40]}`, which no journal has")
        for row in rows:
            if (
                not isinstance(row, list)
                or len(row) != len(_COLUMNS[table].split())
                or not all(value is None or isinstance(value, (str, int, float)) for value in row)
                or any(isinstance(value, int) and abs(value) >= 1 << 63 for value in row)
            ):
                raise JournalError(f"a part of this run has a row for `{table}` that no journal has")
            found.append((table, row))
    return found
