"""The reading end of a journal: while it is written, after `kill -9`, years later."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from premortem import redaction
from premortem.errors import JournalError
from premortem.files.untrusted import loads, why
from premortem.findings import Finding
from premortem.journal import opening, schema
from premortem.redaction import Redactor

T = TypeVar("T")


class Step(NamedTuple):
    step: int
    optimizer: int
    time: float
    loss: float | None
    grad_norm: float | None
    lr: float | None


class Columns(NamedTuple):
    """Steps in a row, as the file holds them: a number, None where it was not measured, "nan"."""

    step: tuple[int, ...]
    loss: tuple[Any, ...]
    grad_norm: tuple[Any, ...]
    lr: tuple[Any, ...]


class Number(NamedTuple):
    """One value of a series other than those of the steps."""

    step: int
    time: float
    name: str
    value: float | None


class Audit(NamedTuple):
    """One measure ("gradient", "ratio", "dead") of all layers."""

    step: int
    what: str
    values: dict[str, float]


class Fault(NamedTuple):
    """A bug of premortem itself."""

    time: float
    unit: str
    error: str


class Run:
    """A run as its journal holds it. Opens the run's folder or the file in it, and changes neither.

    Raises JournalError when there is no journal, or none that can be read.
    """

    def __init__(self, path: Path, patience: float = opening.PATIENCE) -> None:
        self.path = path / schema.FILE if path.is_dir() else path
        if not self.path.exists():
            raise JournalError(f"there is no journal at {self.path}")
        try:
            self._opened = opening.Opened(self.path, patience)
        except (OSError, sqlite3.Error) as error:
            detail = why(error) if isinstance(error, OSError) else error
            raise JournalError(f"the journal {self.path} cannot be opened ({detail})") from error
        try:
            self._check()
        except JournalError:
            self.close()
            raise

    @property
    def meta(self) -> dict[str, Any]:
        return dict(
            self._read("SELECT key, value FROM meta", lambda key, value: (key, self._harmless(value, key)))
        )

    def findings(self) -> list[Finding]:
        return self._read(
            "SELECT record FROM findings ORDER BY id", lambda r: Finding.from_json(self._harmless(r))
        )

    def codes(self) -> dict[str, int]:
        """How often each diagnosis was written down."""
        return dict(
            self._read("SELECT code, count(*) FROM findings GROUP BY code ORDER BY min(id)", lambda *row: row)
        )

    def first_findings(self, most: int) -> list[Finding]:
        """Of each diagnosis at most so many, in the order they were seen: for a journal that holds a million."""
        query = (
            "SELECT record FROM (SELECT id, record, row_number() OVER (PARTITION BY code ORDER BY id) AS nth "
            "FROM findings) WHERE nth <= ? ORDER BY id"
        )
        return self._read(query, lambda r: Finding.from_json(self._harmless(r)), most)

    def found_at(self, code: str) -> float | None:
        """When a diagnosis was first written down."""
        query = "SELECT time FROM findings WHERE code = ? ORDER BY id LIMIT 1"
        return next(iter(self._read(query, float, code)), None)

    def optimizers(self) -> dict[int, int]:
        """Of each optimizer that stepped: how many of its steps are kept."""
        return dict(self._read("SELECT optimizer, count(*) FROM steps GROUP BY optimizer", lambda *row: row))

    def blocks(self, optimizer: int, size: int) -> Iterator[Columns]:
        """The steps of one optimizer, `size` at a time: a million of them are not made into objects one by one."""
        query = "SELECT step, loss, grad_norm, lr FROM steps WHERE optimizer = ? ORDER BY rowid"
        rows = self._opened.rows(query, (optimizer,), opening.STEPS)
        while block := list(islice(rows, size)):
            yield Columns(*zip(*block, strict=True))

    def around(self, step: int, radius: int) -> list[Step]:
        """The steps near this one. They are written in their order, so they are found without reading all."""
        # Two questions: SQLite answers each from the index, but both at once by reading everything.
        ends = "SELECT (SELECT min(rowid) FROM steps), (SELECT max(rowid) FROM steps)"
        ((first, last),) = self._read(ends, lambda *row: row)
        if first is None:
            return []
        while first < last:
            middle = (first + last) // 2
            found = self._read("SELECT step FROM steps WHERE rowid >= ? ORDER BY rowid LIMIT 1", int, middle)
            if found and found[0] < step:
                first = middle + 1
            else:
                last = middle
        return self.steps(last - radius, last + radius)

    def span(self) -> tuple[float, float] | None:
        """When the first and the last step that are kept were made."""
        first = self._read("SELECT time FROM steps ORDER BY rowid LIMIT 1", float)
        last = self._read("SELECT time FROM steps ORDER BY rowid DESC LIMIT 1", float)
        return (first[0], last[0]) if first and last else None

    def newest(self) -> Step | None:
        """The last step that was written down."""
        found = self._read("SELECT max(rowid) FROM steps", lambda last: last)
        last = self.steps(found[0], found[0]) if found[0] is not None else []
        return last[0] if last else None

    def losses(self, most: int) -> list[float | None]:
        """At most so many, at even distances: the shape of a long run without reading all of it."""
        ends = "SELECT (SELECT min(rowid) FROM steps), (SELECT max(rowid) FROM steps)"
        ((first, last),) = self._read(ends, lambda *row: row)
        if first is None:
            return []
        places = sorted({first + (last - first) * place // max(most - 1, 1) for place in range(most)})
        query = f"SELECT loss FROM steps WHERE rowid IN ({','.join('?' * len(places))}) ORDER BY rowid"  # noqa: S608 - question marks
        return self._read(query, schema.from_column, *places)

    def numbers(self) -> list[Number]:
        """Printed metrics and gauges, in the order they were seen."""
        return self._read_new(
            "SELECT step, time, name, value FROM series ORDER BY rowid",
            lambda step, time, name, value: Number(step, time, name, schema.from_column(value)),
        )

    def audits(self, what: str) -> list[Audit]:
        return self._read_new(
            "SELECT step, what, record FROM layers WHERE what = ? ORDER BY rowid",
            lambda step, name, record: Audit(
                step, name, {layer: float(value) for layer, value in loads(record).items()}
            ),
            what,
        )

    def latest(self) -> dict[str, Any]:
        """What only has a newest state: the chain of custody, where the time went, the loss ledger."""
        return dict(
            self._read_new(
                "SELECT name, record FROM latest ORDER BY name", lambda name, r: (name, self._harmless(r))
            )
        )

    def sources(self) -> dict[str, str]:
        """Files as they were: path → text."""
        return dict(
            self._read_new(
                "SELECT path, text FROM sources", lambda path, text: (path, self._secrets.source(text, path))
            )
        )

    def steps(self, first: int = 0, last: int = 1 << 62) -> list[Step]:
        """In the order they were written; `first` and `last` count from 1."""
        return self._read(
            "SELECT step, optimizer, time, loss, grad_norm, lr FROM steps WHERE rowid BETWEEN ? AND ? ORDER BY rowid",
            lambda step, optimizer, time, *numbers: Step(
                step, optimizer, time, *map(schema.from_column, numbers)
            ),
            first,
            last,
        )

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """As `Event.to_json` made them, with the time they were written down."""
        return self._read(
            "SELECT time, record FROM events WHERE ?1 IS NULL OR kind = ?1 ORDER BY id",
            lambda time, record: {"time": time, **self._harmless(record)},
            kind,
        )

    def proofs(self) -> list[dict[str, Any]]:
        """What replays of its failed steps have found out, the newest last."""
        records = [event.get("record") for event in self.events("Autopsied")]
        return [record for record in records if isinstance(record, dict)]

    def faults(self) -> list[Fault]:
        return self._read("SELECT time, unit, error FROM faults ORDER BY rowid", self._fault)

    @cached_property
    def _secrets(self) -> Redactor:
        """A journal of an older premortem, or of another user, may hold secrets. What it marks as one
        stays as it is in other journals."""
        redactor = Redactor(redaction.ours)
        with suppress(JournalError, TypeError):
            for argv in self._read("SELECT value FROM meta WHERE key = 'argv'", loads):
                redactor.record(argv)
        return redactor

    def _harmless(self, text: str, name: str = "") -> Any:
        return self._secrets.record(loads(text), name)

    def _fault(self, time: float, unit: str, error: str) -> Fault:
        return Fault(time, unit, self._secrets.text(error))

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> Run:  # noqa: PYI034 - `Self` is in typing from Python 3.11 only
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check(self) -> None:
        header = ("application_id", "user_version")
        application, version = (self._read(f"PRAGMA {name}", int)[0] for name in header)
        if not self._read("SELECT count(*) FROM sqlite_master", int)[0]:
            raise JournalError(f"the journal {self.path} is empty: its run ended before it began")
        if application != schema.APPLICATION:
            raise JournalError(f"{self.path} is a database, but not a journal of premortem")
        self.version = version
        if not schema.OLDEST <= version <= schema.VERSION:
            older = version < schema.VERSION
            raise JournalError(
                f"the journal {self.path} was written by {'an older' if older else 'a newer'} premortem "
                f"(format {version}, this one reads {schema.VERSION}); "
                f"read it with {'the premortem that wrote it' if older else 'a newer premortem'}"
            )
        self._opened.check_tables()

    def _read_new(self, query: str, decode: Callable[..., T], *values: Any) -> list[T]:
        """From a table that the first format did not have."""
        return self._read(query, decode, *values) if self.version > 1 else []

    def _read(self, query: str, decode: Callable[..., T], *values: Any) -> list[T]:
        try:
            # All rows at once: an open cursor would keep the writer from tidying its WAL file.
            most = opening.STEPS if " FROM steps " in query else opening.ROWS
            return [decode(*row) for row in list(self._opened.rows(query, values, most))]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise JournalError(f"the journal {self.path} is damaged ({error})") from error
