"""The writing end of a journal: never blocks training, never raises into it.

    training thread                      writer thread
    step(), event(), fault()  ─ deque ─▶ every quarter of a second: one transaction
    finding()                 ─ deque ─▶ at once; the caller waits for the commit

A commit is a write to the WAL file, so it outlives the process however it ends. When the disk lets
the journal down (full, read-only, locked, damaged), one sentence says so and the rest is dropped.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from premortem.events import Event, StepStats
from premortem.findings import Finding
from premortem.journal import schema
from premortem.plain import dumps, plain

PAUSE = 0.25  # seconds between two transactions
WAIT = 2.0  # longest that finding() waits for a disk that hangs
PATIENCE = 30.0  # how long a lock held by another program is put up with
BACKLOG = 100_000  # entries kept while the disk hangs; more are dropped
FAULTS = 10  # kept per unit: one that fails at every step says nothing new
ALL_STEPS = 10_000  # steps of an optimizer that are kept one by one, because most runs go wrong early;
BURST = 100  # after these, at most so many per transaction: the file of a long run stays small


class Entry(NamedTuple):
    """What is on its way to the disk. `what` becomes a row in the writer's time, not in the run's."""

    table: str
    time: float
    what: Any
    done: threading.Event | None = None


class Journal:
    """One run's journal. Made by `Journal.open`; all methods may be called from any thread."""

    def __init__(self, path: Path, on_problem: Callable[[str], None]) -> None:
        self.path = path
        self._on_problem = on_problem
        self._pid = os.getpid()
        self._open = True
        self._told = False
        self._backlog: deque[Entry] = deque()
        self._dropped = 0
        self._faults: Counter[str] = Counter()
        # A bell that may be rung from a signal handler: unlike an Event's, its put() is reentrant.
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.RLock()

    @classmethod
    def open(cls, folder: Path, *, meta: dict[str, Any], on_problem: Callable[[str], None]) -> Journal:
        """Start `folder`/journal.sqlite. When that cannot be done, the journal drops what it is given."""
        journal = cls(folder / schema.FILE, on_problem)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _create(journal.path, meta)
        except (OSError, sqlite3.Error) as error:
            journal._give_up(error)
        return journal

    @property
    def keeps(self) -> bool:
        """Whether what it is given will be kept: not when the disk failed, nor in a forked child."""
        return self._open and os.getpid() == self._pid

    def step(self, stats: StepStats, time: float) -> None:
        self._put(Entry("steps", time, stats))

    def event(self, event: Event) -> None:
        self._put(Entry("events", time.time(), event))

    def note(self, **meta: Any) -> None:
        """Add to what is known of the run as a whole, or change it."""
        now = time.time()
        for key, value in meta.items():
            self._put(Entry("meta", now, (key, value)))

    def finding(self, finding: Finding) -> None:
        """Returns when the finding is safe from `kill -9` (or the disk has hung for too long)."""
        done = threading.Event()
        if self._put(Entry("findings", time.time(), finding, done)):
            self._bell.put(None)
            done.wait(WAIT)

    def fault(self, unit: str, error: BaseException) -> None:
        """A bug of premortem itself. The run never notices."""
        self._faults[unit] += 1
        if self._faults[unit] <= FAULTS:
            self._put(Entry("faults", time.time(), (unit, _text(error))))

    def close(self) -> None:
        """Write what is still on its way. More than one call does no harm."""
        if not self.keeps:
            return
        if self._dropped:
            self.note(dropped=self._dropped)
        self._open = False
        if self._thread is not None:
            self._bell.put(None)
            self._thread.join(WAIT + PAUSE)

    def _put(self, entry: Entry) -> bool:
        if not self.keeps:
            return False
        if len(self._backlog) >= BACKLOG:
            self._dropped += 1
            return False
        self._backlog.append(entry)
        if self._thread is None:
            self._start()
        return True

    def _start(self) -> None:
        """The writer starts with the first entry: a script that never trains gets no extra thread."""
        with self._starting:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._write, name="premortem-journal", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:  # no threads left, or the interpreter is going down
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """From here on everything is dropped, and this is the one sentence about it."""
        self._open = False
        if self._told:
            return
        self._told = True
        reason = error.strerror if isinstance(error, OSError) else error
        sentence = f"the journal {self.path} cannot be written ({reason}); the run goes on without it"
        with suppress(Exception):  # nobody is left to tell
            self._on_problem(sentence)

    # --- the writer thread -------------------------------------------------------------------

    def _write(self) -> None:
        # The connection lives in this frame alone: a forked child, which has no such thread, can
        # neither use it nor close it, and SQLite allows neither.
        pending: list[Entry] = []
        try:
            connection = _connect(self.path, "rw")
            try:
                self._write_until_closed(connection, pending)
            finally:
                connection.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on without a journal
            self._give_up(error)
        finally:
            while self._backlog:
                pending.append(self._backlog.popleft())
            _release(pending)

    def _write_until_closed(self, connection: sqlite3.Connection, pending: list[Entry]) -> None:
        seen: Counter[int] = Counter()
        locked_since: float | None = None
        last = False
        while not last:
            self._sleep()
            last = not self._open  # looked at before the backlog is emptied, so that nothing is left in it
            while self._backlog and len(pending) < BACKLOG:
                pending.append(self._backlog.popleft())
            rows = self._rows(_thinned(pending, seen))
            try:
                _commit(connection, rows)
            except sqlite3.OperationalError as error:
                now = time.monotonic()
                locked_since = locked_since or now
                if last or not _is_lock(error) or now - locked_since > PATIENCE:
                    raise
                continue
            locked_since = None
            seen.update(entry.what.optimizer for entry in pending if entry.table == "steps")
            _release(pending)
            pending.clear()

    def _rows(self, entries: Iterable[Entry]) -> list[tuple[str, tuple[Any, ...]]]:
        rows = []
        for entry in entries:
            with never_fatal("journal", self):  # one entry that makes no row does not cost the others
                rows.append((INSERT[entry.table], _row(entry)))
        return rows

    def _sleep(self) -> None:
        """Until the bell rings, or the time for the next transaction has come."""
        with suppress(Empty):
            self._bell.get(timeout=PAUSE)


@contextmanager
def never_fatal(unit: str, journal: Journal | None) -> Iterator[None]:
    """Around whatever premortem does inside the user's run: its bugs go to the journal, the run goes on.

    `Stopped` and Ctrl-C pass, because they are meant for the run.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever a part of premortem raises, training goes on
        if journal is not None:
            journal.fault(unit, error)


# --- SQLite ----------------------------------------------------------------------------------


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=1.0,
        isolation_level=None,  # transactions are begun and committed here, by name
        check_same_thread=False,
    )
    # Safe from kill -9; only a power cut may cost the last rows.
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _create(path: Path, meta: dict[str, Any]) -> None:
    connection = _connect(path, "rwc")
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("BEGIN IMMEDIATE")
        # Fails when the tables are there already: two runs are never mixed in one journal.
        for statement in schema.TABLES.strip().split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={schema.APPLICATION}")
        connection.execute(f"PRAGMA user_version={schema.VERSION}")
        connection.executemany(INSERT["meta"], [_row(Entry("meta", 0.0, item)) for item in meta.items()])
        connection.execute("COMMIT")
    finally:
        connection.close()


INSERT = {
    "meta": "INSERT OR REPLACE INTO meta VALUES (?, ?)",
    "steps": "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?)",
    "findings": "INSERT INTO findings VALUES (NULL, ?, ?, ?, ?)",
    "events": "INSERT INTO events VALUES (NULL, ?, ?, ?, ?)",
    "faults": "INSERT INTO faults VALUES (?, ?, ?)",
}


def _row(entry: Entry) -> tuple[Any, ...]:
    what = entry.what
    match entry.table:
        case "meta":
            return (what[0], dumps(what[1]))
        case "steps":
            numbers = (what.loss, what.grad_norm, what.lr)
            return (what.step, what.optimizer, entry.time, *map(schema.to_column, numbers))
        case "findings":
            return (entry.time, what.step, plain(what.code), dumps(what.to_json()))
        case "events":
            return (entry.time, what.step, type(what).__name__, dumps(what.to_json()))
        case _:
            return (entry.time, *plain(what))


def _commit(connection: sqlite3.Connection, rows: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
    if not rows:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement, row in rows:
            connection.execute(statement, row)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _thinned(entries: Sequence[Entry], seen: Counter[int]) -> Sequence[Entry]:
    """All steps of the beginning; later an even choice, with every step that is not finite."""
    if len(entries) <= BURST:
        return entries
    stride = -(-len(entries) // BURST)
    return [
        entry
        for number, entry in enumerate(entries)
        if entry.table != "steps"
        or number % stride == 0
        or seen[entry.what.optimizer] < ALL_STEPS
        or not _finite(entry.what)
    ]


def _finite(stats: StepStats) -> bool:
    numbers = (stats.loss or 0.0, stats.grad_norm)
    return all(abs(number) < float("inf") for number in numbers)  # false for NaN too


def _is_lock(error: sqlite3.OperationalError) -> bool:
    return "locked" in str(error)  # Python 3.10 has no error codes yet


def _release(entries: Sequence[Entry]) -> None:
    for entry in entries:
        if entry.done is not None:
            entry.done.set()


def _text(error: BaseException) -> str:
    """The end of the traceback says most: the message and the frames nearest to the bug."""
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))[-4000:]
    except Exception:  # noqa: BLE001 - an exception whose own text cannot be made
        return type(error).__name__
