"""A journal of any origin, opened for reading.

A database is a program as much as a pickle is: a view that never ends can have the name of a table, a column can be computed, a
page can point to itself. So nothing is allowed here but to select from the tables of the schema, each query has its
time, and no value or answer may be larger than anything a run writes.
"""

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem.errors import JournalError
from premortem.files import untrusted
from premortem.journal import schema
from premortem.journal.connection import has_locks

PATIENCE = 30.0  # seconds for one query
CELL = 16 << 20  # bytes of one value
ROWS = 1_000_000  # of one answer, but for the steps, of which a long run has more
STEPS = 100_000_000
_COPY = 8 << 30  # bytes; a larger journal is not copied to be read
_COPIES = 5  # one is spoilt where the run writes into the journal meanwhile, every thousand pages: hardly ever twice
_OPCODES = 20_000  # of SQLite's machine between two looks at the clock
_FETCHED = 1000  # rows at once

_TABLES = frozenset(re.findall(r"CREATE TABLE (\w+)", schema.TABLES))
_PLAIN = re.compile(r"CREATE TABLE\b", re.IGNORECASE)
_COMPUTED = re.compile(r"\bGENERATED\s+ALWAYS\b|\bAS\s*\(", re.IGNORECASE)
_FUNCTIONS = {"count", "min", "max", "row_number"}
_READABLE = _TABLES | {"sqlite_master", "sqlite_schema"}
_LIMITED = hasattr(sqlite3.Connection, "setlimit")  # from Python 3.11 on
_PRAGMAS = {"schema_version", "application_id", "user_version"}


class Opened:
    """A connection that can only read what a journal holds. Raises JournalError, or OSError when it is made."""

    def __init__(self, path: Path, patience: float = PATIENCE) -> None:
        self.path = path
        self.patience = patience
        self._budget = untrusted.Budget(patience)
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        with untrusted.opened(path) as file:
            locks = has_locks(file)
        self._connection = self._connected() if locks else self._copied()

    def close(self) -> None:
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def rows(self, query: str, values: tuple[Any, ...] = (), most: int = ROWS) -> Iterator[tuple[Any, ...]]:
        """The answer, row by row. Raises JournalError."""
        count = 0
        self._budget = untrusted.Budget(self.patience)
        try:
            cursor = self._connection.execute(query, values)
            while rows := cursor.fetchmany(_FETCHED):
                count += len(rows)
                if count > most:
                    raise self.refused(f"a query returns more than {most:,} rows where a run writes fewer")
                if not _LIMITED:
                    self._small(rows)
                yield from rows
                # What is done with the rows takes no time of the query's.
                self._budget = untrusted.Budget(self.patience)
        except sqlite3.DatabaseError as error:
            raise self._described(error) from error

    def check_tables(self) -> None:
        """Whether what has the name of a table is one."""
        for name, kind, sql in self.rows("SELECT name, type, sql FROM sqlite_master", most=10_000):
            if str(name).lower() not in _TABLES:
                continue
            if kind != "table":
                raise self.refused(f"`{name}` is a {kind}, not a table")
            if not _PLAIN.match(str(sql)) or _COMPUTED.search(str(sql)):
                raise self.refused(f"`{name}` is a table in it whose values are computed")

    def refused(self, what: str) -> JournalError:
        return JournalError(f"the journal {self.path} is not one that premortem has written: {what}")

    def _described(self, error: sqlite3.DatabaseError) -> JournalError:
        if "interrupted" in str(error):
            return JournalError(
                f"the journal {self.path} is damaged, or made to keep its reader busy: "
                f"one query took more than {self.patience:g} seconds"
            )
        return JournalError(f"the journal {self.path} is damaged ({error})")

    def _small(self, rows: list[tuple[Any, ...]]) -> None:
        if any(isinstance(value, (str, bytes)) and len(value) > CELL for row in rows for value in row):
            raise self.refused(f"a value in it is longer than {CELL:,} bytes")

    def _connected(self) -> sqlite3.Connection:
        connection = self._connect(self.path)
        try:
            connection.execute("PRAGMA schema_version").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if "interrupted" in str(error):
                raise self._described(error) from error
            # SQLite must be able to write beside a WAL journal even to read it, and this folder
            # does not let it (read-only, or someone else's): read a copy.
            return self._copied()
        except sqlite3.DatabaseError:
            pass  # damaged; reading it reports the error
        return connection

    def _copied(self) -> sqlite3.Connection:
        self._copy = tempfile.TemporaryDirectory(prefix="premortem-")
        for _ in range(_COPIES):
            for file in Path(self._copy.name).iterdir():
                file.unlink()
            written = self._written()
            files = [
                file
                for file in sorted(self.path.parent.glob(f"{self.path.name}*"))
                if not file.name.endswith("-shm")
                and untrusted.is_regular(file)  # -shm is rebuilt from the others
            ]
            if sum(file.stat().st_size for file in files) > _COPY:
                raise JournalError(f"the journal {self.path} cannot be opened, and is too large to be copied")
            for file in files:
                with suppress(FileNotFoundError):  # the run has just ended, and its WAL file with it
                    shutil.copy(file, self._copy.name)
            if self._written() == written:
                break
        return self._connect(Path(self._copy.name) / self.path.name)

    def _written(self) -> tuple[int, int]:
        """Rows go into the WAL file, one after the other. Now and then all of them go into the journal: a copy that was made
        meanwhile has some of both."""
        now = self.path.stat()
        return now.st_mtime_ns, now.st_size

    def _connect(self, path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0, check_same_thread=False
        )
        connection.set_progress_handler(lambda: self._budget.spent, _OPCODES)
        if _LIMITED:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL)
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for setting in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
        connection.set_authorizer(_allowed)
        return connection


def _allowed(
    action: int, first: str | None, second: str | None, _database: str | None, view: str | None
) -> int:
    if action == sqlite3.SQLITE_SELECT:
        fine = True
    elif action == sqlite3.SQLITE_READ:
        fine = view is None and str(first).lower() in _READABLE
    elif action == sqlite3.SQLITE_FUNCTION:
        fine = second in _FUNCTIONS
    else:
        fine = action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS and second is None
    return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY
