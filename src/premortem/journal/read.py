"""The reading end of a journal: while it is written, after `kill -9`, years later."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from premortem.errors import JournalError
from premortem.findings import Finding
from premortem.journal import schema

T = TypeVar("T")


class Step(NamedTuple):
    step: int
    optimizer: int
    time: float
    loss: float | None
    grad_norm: float | None
    lr: float | None


class Fault(NamedTuple):
    """A bug of premortem itself."""

    time: float
    unit: str
    error: str


class Run:
    """A run as its journal tells it. Opens the run's folder or the file in it, and changes neither.

    Raises JournalError when there is no journal, or none that can be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path / schema.FILE if path.is_dir() else path
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        if not self.path.is_file():
            raise JournalError(f"there is no journal at {self.path}")
        try:
            self._connection = self._connect()
        except OSError as error:
            raise JournalError(f"the journal {self.path} cannot be opened ({error})") from error
        try:
            self._check()
        except JournalError:
            self.close()
            raise

    @property
    def meta(self) -> dict[str, Any]:
        return dict(self._read("SELECT key, value FROM meta", lambda key, value: (key, json.loads(value))))

    def findings(self) -> list[Finding]:
        return self._read(
            "SELECT record FROM findings ORDER BY id", lambda r: Finding.from_json(json.loads(r))
        )

    def steps(self) -> list[Step]:
        return self._read(
            "SELECT step, optimizer, time, loss, grad_norm, lr FROM steps ORDER BY rowid",
            lambda step, optimizer, time, *numbers: Step(
                step, optimizer, time, *map(schema.from_column, numbers)
            ),
        )

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """As `Event.to_json` made them, with the time they were written down."""
        return self._read(
            "SELECT time, record FROM events WHERE ?1 IS NULL OR kind = ?1 ORDER BY id",
            lambda time, record: {"time": time, **json.loads(record)},
            kind,
        )

    def faults(self) -> list[Fault]:
        return self._read("SELECT time, unit, error FROM faults ORDER BY rowid", Fault)

    def close(self) -> None:
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def __enter__(self) -> Run:  # noqa: PYI034 - `Self` is in typing from Python 3.11 only
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _connect(self) -> sqlite3.Connection:
        connection = _connect(self.path)
        try:
            connection.execute("PRAGMA schema_version").fetchone()
        except sqlite3.OperationalError:
            # SQLite must be able to write beside a WAL journal even to read it, and this folder
            # does not let it (read-only, or someone else's): read a copy.
            connection.close()
            self._copy = tempfile.TemporaryDirectory(prefix="premortem-")
            for file in self.path.parent.glob(f"{self.path.name}*"):
                if not file.name.endswith("-shm"):  # rebuilt from the others
                    shutil.copy(file, self._copy.name)
            return _connect(Path(self._copy.name) / self.path.name)
        except sqlite3.DatabaseError:
            pass  # damaged; _check says so
        return connection

    def _check(self) -> None:
        header = ("application_id", "user_version")
        application, version = (self._read(f"PRAGMA {name}", int)[0] for name in header)
        if not self._read("SELECT count(*) FROM sqlite_master", int)[0]:
            raise JournalError(f"the journal {self.path} is empty: its run ended before it began")
        if application != schema.APPLICATION:
            raise JournalError(f"{self.path} is a database, but not a journal of premortem")
        if version != schema.VERSION:
            older = version < schema.VERSION
            raise JournalError(
                f"the journal {self.path} was written by {'an older' if older else 'a newer'} premortem "
                f"(format {version}, this one reads {schema.VERSION}); "
                f"read it with {'the premortem that wrote it' if older else 'a newer premortem'}"
            )

    def _read(self, query: str, decode: Callable[..., T], *values: Any) -> list[T]:
        try:
            # All rows at once: an open cursor would keep the writer from tidying its WAL file.
            rows = self._connection.execute(query, values).fetchall()
            return [decode(*row) for row in rows]
        except (sqlite3.DatabaseError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise JournalError(f"the journal {self.path} is damaged ({error})") from error


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0, check_same_thread=False
    )
