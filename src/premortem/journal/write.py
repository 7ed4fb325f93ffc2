"""The writing end of a journal: never blocks training, never raises into it.

    training thread                      writer thread
    step(), event(), fault()  ─ deque ─▶ every quarter of a second: rows.py, one transaction
    finding()                 ─ deque ─▶ at once; the caller waits for the commit
                                         now and then: pulse.py, gauges, accounts

A commit is a write to the WAL file, so it outlives the process however it ends. When the disk lets
the journal down (full, read-only, locked, damaged), one sentence says so and the rest is dropped.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from premortem import redaction
from premortem.events import Event, StepStats
from premortem.files import private
from premortem.findings import Finding
from premortem.journal import schema
from premortem.journal.connection import close, connect
from premortem.journal.folders import SPARE
from premortem.journal.pulse import Pulse, resident
from premortem.journal.rows import Entry, Row, Rows
from premortem.journal.rows import meta as meta_row

PAUSE = 0.25  # seconds between two transactions
WAIT = 2.0  # longest that finding() waits for a disk that hangs
PATIENCE = 30.0  # how long a lock held by another program is put up with
BACKLOG = 100_000  # entries kept while the disk hangs; more are dropped
FAULTS = 10  # kept per unit: one that fails at every step says nothing new
ALL_STEPS = 10_000  # steps of an optimizer that are kept one by one, because most runs go wrong early;
BURST = 100  # after these, about so many per transaction: the file of a long run stays small
GAUGED = 8  # beats of the pulse, of a quarter of a second each, between two looks at the memory
ACCOUNTED = 40  # ... and between two looks at what only has a newest state


class Journal:
    """One run's journal. Made by `Journal.open`; all methods may be called from any thread."""

    def __init__(self, path: Path, on_problem: Callable[[str], None]) -> None:
        self.path = path
        self._on_problem = on_problem
        self._pid = os.getpid()
        self._open = True
        self._reported = False
        self._backlog: deque[Entry] = deque()
        self._dropped = 0
        self._faults: Counter[str] = Counter()
        # A bell that may be rung from a signal handler: unlike an Event's, its put() is reentrant.
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.RLock()
        # Asked by the writer: numbers that become series, and what only has a newest state. They may not wait.
        self.gauges: list[Callable[[], Mapping[str, float]]] = []
        self.accounts: dict[str, Callable[[], Any]] = {}
        self.looks: list[Callable[[], None]] = []  # at every beat: is there a request?
        self.pulse = Pulse()
        self.gauged: dict[str, float] = {}  # the last values of the gauges
        self._rows_of = Rows()

    @classmethod
    def open(cls, folder: Path, *, meta: dict[str, Any], on_problem: Callable[[str], None]) -> Journal:
        """Start `folder`/journal.sqlite. When that cannot be done, the journal drops what it is given."""
        journal = cls(folder / schema.FILE, on_problem)
        try:
            private.make_folder(folder)
            check_room(folder)
            create(journal.path, meta)
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

    def source(self, path: str) -> None:
        """Keep the text of this file, as it is when the writer starts."""
        self._put(Entry("sources", time.time(), path), start=False)

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

    def give_way(self) -> Path | None:
        """The script needs the room: the journal ends here, and goes to another disk. None when it is lost."""
        self.close()
        self._open = False
        place = Path(tempfile.gettempdir())
        kept = None
        with suppress(OSError):
            if place.stat().st_dev != self.path.parent.stat().st_dev:
                kept = Path(tempfile.mkdtemp(prefix="premortem-run-", dir=place))
                for part in self._files():
                    shutil.copyfile(part, kept / part.name)
        for part in self._files():
            with suppress(OSError):
                part.unlink()
        return kept

    def _files(self) -> list[Path]:
        names = [self.path.name + ending for ending in ("", "-wal", "-shm")]
        return [path for path in map(self.path.with_name, names) if path.exists()]

    def _put(self, entry: Entry, *, start: bool = True) -> bool:
        if not self.keeps:
            return False
        if len(self._backlog) >= BACKLOG:
            self._dropped += 1
            return False
        self._backlog.append(entry)
        if self._thread is None and start:
            self._start()
        return True

    def _start(self) -> None:
        """The writer starts with the first entry of the run itself: a script that never trains gets no extra thread."""
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
        if self._reported:
            return
        self._reported = True
        reason = error.strerror if isinstance(error, OSError) else error
        sentence = f"the journal {self.path} cannot be written ({reason}); the run goes on without it"
        with suppress(Exception):  # there is no reader left
            self._on_problem(sentence)

    # --- the writer thread -------------------------------------------------------------------

    def _write(self) -> None:
        # The connection lives in this frame alone: a forked child, which has no such thread, can
        # neither use it nor close it, and SQLite allows neither.
        pending: list[Entry] = []
        try:
            with _at_work:
                connection = connect(self.path, "rw")
            try:
                self._write_until_closed(connection, pending)
            finally:
                with _at_work:
                    close(connection, self.path)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on without a journal
            self._give_up(error)
        finally:
            while self._backlog:
                pending.append(self._backlog.popleft())
            _release(pending)

    def _write_until_closed(self, connection: sqlite3.Connection, pending: list[Entry]) -> None:
        seen: Counter[int] = Counter()
        rows: list[Row] = []
        locked_since: float | None = None
        last = False
        while not last:
            beats = self._sleep()
            last = not self._open  # looked at before the backlog is emptied, so that nothing is left in it
            fresh: list[Entry] = []
            while self._backlog and len(pending) + len(fresh) < BACKLOG:
                fresh.append(self._backlog.popleft())
            pending += fresh
            rows += self._rows(_thinned(fresh, seen))
            seen.update(entry.what.optimizer for entry in fresh if entry.table == "steps")
            if beats or last:
                rows += self._observations(last=last)
            if rows:
                check_room(self.path.parent)
            try:
                with _at_work:
                    _commit(connection, rows)
            except sqlite3.OperationalError as error:
                now = time.monotonic()
                locked_since = locked_since or now
                if last or not _is_lock(error) or now - locked_since > PATIENCE:
                    raise
                continue
            locked_since = None
            rows.clear()
            _release(pending)
            pending.clear()

    def _rows(self, entries: Iterable[Entry]) -> list[Row]:
        rows: list[Row] = []
        for entry in entries:
            with never_fatal("journal", self):  # one entry that makes no row does not cost the others
                rows += self._rows_of.of(entry)
        return rows

    def _observations(self, *, last: bool) -> list[Row]:
        """What no event carries: where the time goes, memory, accounts."""
        rows: list[Row] = []
        for look in self.looks:
            with never_fatal("look", self):
                look()
        number = self.pulse.beats
        if number % GAUGED == 1 or last:
            numbers: dict[str, float] = {}
            with never_fatal("memory", self):
                memory = resident()
                numbers |= {} if memory is None else {"memory of the process": memory}
            for gauge in self.gauges:
                with never_fatal("gauge", self):
                    numbers |= gauge()
            self.gauged = numbers
            rows += self._rows_of.gauged(time.time(), numbers)
        if number % ACCOUNTED == 1 or last:
            reached = self._rows_of.reached
            if self.pulse.seen:
                rows.append(self._rows_of.latest("time", reached, self.pulse.seen))
            for name, account in self.accounts.items():
                with never_fatal(name, self):
                    rows.append(self._rows_of.latest(name, reached, account()))
        return rows

    def _sleep(self) -> bool:
        """Until the bell rings, or the time for the next transaction has come: then the pulse is felt."""
        try:
            self._bell.get(timeout=PAUSE)
        except Empty:
            self.pulse.beat()
            return True
        return False


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


def check_room(folder: Path) -> None:
    """A disk that is nearly full is the script's alone. Raises OSError."""
    left = shutil.disk_usage(folder).free
    if left < SPARE:
        raise OSError(errno.ENOSPC, f"the disk has only {left / 1e6:.1f} MB left, which the script may need")


# --- forks -----------------------------------------------------------------------------------

# A fork copies SQLite's own locks as they are. One that the writer holds in that moment would be held for ever in the
# child, which has no such thread, and may have a journal to write itself: so a fork waits for the end of a transaction.
_at_work = threading.Lock()
_held: list[bool] = []


def undisturbed() -> threading.Lock:
    """To be held while SQLite is used on a thread of ours: no process is forked meanwhile."""
    return _at_work


def _before_fork() -> None:
    _held.append(_at_work.acquire(timeout=WAIT))  # not for a disk that hangs


def _after_fork() -> None:
    if _held and _held.pop():
        _at_work.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


# --- SQLite ----------------------------------------------------------------------------------


def create(path: Path, meta: dict[str, Any], mode: str = "WAL") -> None:
    """A journal with nothing in it but `meta`. Raises OSError or sqlite3.Error."""
    private.opened(path, "ab").close()  # SQLite makes its other files with the rights of this one
    connection = connect(path, "rwc")
    try:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("BEGIN IMMEDIATE")
        # Fails when the tables are there already: two runs are never mixed in one journal.
        for statement in schema.TABLES.strip().split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={schema.APPLICATION}")
        connection.execute(f"PRAGMA user_version={schema.VERSION}")
        for key, value in meta.items():
            connection.execute(*meta_row(key, value))
        connection.execute("COMMIT")
    finally:
        connection.close()


def _commit(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    if not rows:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement, row in rows:
            connection.execute(statement, row)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:  # something was raised
            connection.execute("ROLLBACK")


def _thinned(entries: Sequence[Entry], seen: Counter[int]) -> Sequence[Entry]:
    """All steps of the beginning; later an even choice, with every step that is not finite, and every peak."""
    steps = [entry for entry in entries if entry.table == "steps"]
    if len(steps) <= BURST:
        return entries
    stride = -(-len(steps) // BURST)
    peaks: dict[tuple[int, int], Entry] = {}
    wanted: set[int] = set()
    for number, entry in enumerate(steps):
        stats = entry.what
        if number % stride == 0 or seen[stats.optimizer] < ALL_STEPS or not _finite(stats):
            wanted.add(id(entry))
            continue
        bucket = (stats.optimizer, number // stride)
        if bucket not in peaks or (stats.loss or 0.0) > (peaks[bucket].what.loss or 0.0):
            peaks[bucket] = entry
    wanted.update(map(id, peaks.values()))
    return [entry for entry in entries if entry.table != "steps" or id(entry) in wanted]


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
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return redaction.redacted(text)[-4000:]  # not the other way round: half a secret is not recognised
    except Exception:  # noqa: BLE001 - an exception whose own text cannot be made
        return type(error).__name__
