"""Files through the engine: here for a few, in several processes for many."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.errors import PremortemError
from premortem.files import untrusted
from premortem.lint import cache as caching
from premortem.lint import engine, files, problems, summaries
from premortem.lint.project_facts import Facts
from premortem.lint.summaries import Summary
from premortem.lint.target import Targets
from premortem.terminal.progress import Progress

if TYPE_CHECKING:
    # Loaded when there is much to read: for a single file they would be a tenth of the time.
    import multiprocessing
    from concurrent.futures import Future, ProcessPoolExecutor

MANY = 300  # files; below that, starting processes costs more than it saves
MOST = 8  # processes


@dataclass(frozen=True, slots=True)
class Task:
    """One file to check: with all rules, or with those that waited for the facts."""

    path: str
    codes: tuple[str, ...] | None = None
    known: Summary | None = None


@dataclass(frozen=True, slots=True)
class _Bench:
    """What a process needs to work on any file."""

    codes: tuple[str, ...]
    root: Path
    targets: Targets | None
    rules: tuple[Any, ...] = field(default=(), compare=False)

    @classmethod
    def set_up(cls, codes: Sequence[str], root: Path, targets: Targets | None) -> _Bench:
        rules = tuple(rule for rule in engine.all_rules() if rule.card.code in codes)
        return cls(tuple(codes), root, targets, rules)

    def check(self, task: Task) -> dict[str, Any]:
        """The entry of a file: plain values, ready for the cache and for another process."""
        place = _place(task.path, self.targets)
        rules = [rule for rule in self.rules if task.codes is None or rule.card.code in task.codes]
        known = None if task.known is None else [task.known]
        try:
            stat = os.stat(task.path)  # noqa: PTH116 - once for every file
            data = untrusted.read(task.path)
        except OSError as error:
            lost = engine.Checked()
            message = f"this file cannot be opened ({untrusted.why(error)})"
            lost.report(task.path, problems.UnreadableFile.card, message)
            return _entry(lost, place, "", [])
        target = self.targets.of(task.path) if self.targets else None
        checked = engine.check_file(task.path, data, rules, Facts(self.root, target, known, task.path))
        return _entry(checked, place, caching.hash_of(data), [stat.st_mtime_ns, stat.st_size])


def _place(path: str, targets: Targets | None) -> str:
    return f"{files.module_name(path)} {targets.stamp(path) if targets else ''}"


def _entry(checked: engine.Checked, place: str, content: str, stat: list[int]) -> dict[str, Any]:
    return {
        "stat": stat,
        "place": place,
        "hash": content,
        "diagnostics": [caching.pack(one) for one in checked.diagnostics],
        "summary": summaries.as_json(checked.summary) if checked.summary else None,
        "waiting": checked.waiting,
        "silenced": checked.silenced,
        "later": {},
    }


_bench: _Bench | None = None  # of a worker process


def _start(codes: Sequence[str], root: Path, targets: Targets | None) -> None:
    global _bench  # noqa: PLW0603 - the one thing a worker process keeps
    # Sources are released by hand; the collector would only look for garbage that is not there.
    gc.disable()
    # Ctrl-C reaches every process; the one that started the others ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _bench = _Bench.set_up(codes, root, targets)


def _work(tasks: Sequence[Task]) -> list[tuple[str, dict[str, Any]]]:
    assert _bench is not None  # noqa: S101 - set by _start in every worker
    return [(task.path, _bench.check(task)) for task in tasks]


class Workers:
    """Runs tasks; starts processes when there are many."""

    def __init__(
        self,
        codes: Sequence[str],
        root: Path,
        targets: Targets | None,
        progress: Progress,
        *,
        many: bool = True,
    ) -> None:
        self._setup = (tuple(codes), root, targets)
        self._progress = progress
        self._many = many  # False: never start a process, because threads are running
        self._here: _Bench | None = None
        self._pool: ProcessPoolExecutor | None = None

    def summing(self) -> Workers:
        """Workers that run no rule: for files that are only summed up."""
        _codes, root, _targets = self._setup
        return Workers((), root, None, self._progress, many=self._many)

    def place(self, path: str) -> str:
        """What the answers for a file depend on besides its content: its module, and the versions it runs with."""
        return _place(path, self._setup[2])

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The entries of these files, in any order."""
        if not tasks:
            return
        if self._many and len(tasks) >= MANY and _cores() > 1:
            yield from self._in_processes(tasks)
            return
        self._progress.count(len(tasks), "files")
        yield from self._in_this_one(tasks)
        self._progress.count(0)

    def _in_this_one(self, tasks: Iterable[Task]) -> Iterator[tuple[str, dict[str, Any]]]:
        collecting = gc.isenabled()
        gc.disable()
        try:
            self._here = self._here or _Bench.set_up(*self._setup)
            for task in tasks:
                yield task.path, self._here.check(task)
                self._progress.advance(1)
        finally:
            if collecting:
                gc.enable()

    def _in_processes(self, tasks: Sequence[Task]) -> Iterator[tuple[str, dict[str, Any]]]:
        from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed

        count = min(_cores(), MOST)
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                count, mp_context=_context(), initializer=_start, initargs=self._setup
            )
        # The large files first, dealt out evenly, so that no process is left with a large one at the end.
        by_size = sorted(tasks, key=lambda task: -_size(task.path))
        piles = max(count * 8, len(tasks) // 40)
        with _interrupts_put_off():
            pending: list[Future[list[tuple[str, dict[str, Any]]]]] = [
                self._pool.submit(_work, by_size[start::piles]) for start in range(piles)
            ]
        self._progress.count(len(tasks), "files")
        for done in as_completed(pending):
            try:
                result = done.result()
            except BrokenExecutor:
                raise PremortemError("a lint process was killed, perhaps because memory ran out") from None
            yield from result
            self._progress.advance(len(result))
        self._progress.count(0)

    def close(self) -> None:
        self._progress.count(0)
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_put_off() -> Iterator[None]:
    """Ctrl-C counts again at the end, here; processes that are started inside never hear it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _context() -> multiprocessing.context.BaseContext:
    import multiprocessing

    # Forking is quick and safe here: no thread runs yet when the workers start.
    method = "fork" if sys.platform == "linux" else "spawn"
    return multiprocessing.get_context(method)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - once for every file
    except OSError:
        return 0
