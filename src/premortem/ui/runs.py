"""The list of runs: what is worth knowing of each, read once and again only when its journal has changed.

A folder may hold ten thousand. Each call reads for a fraction of a second, newest first, and the next one goes on.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from premortem.amounts import short
from premortem.errors import JournalError
from premortem.journal import schema
from premortem.report.listed import UNREADABLE, Entry, Key, key_of, read
from premortem.shelf.reader import Shelf

BUDGET = 0.4  # seconds of reading in one call
FRESH = 0.5  # seconds for which a look at the folder is good enough
PER_PAGE = 50
NEWEST = "newest"
VERDICTS = ("running", "bad", "doubtful", "good", UNREADABLE)

_TONES = ("bad", "doubtful", "good", UNREADABLE)
# How the list can be ordered; equals stay newest first.
ORDERS: dict[str, Callable[[Entry], Any]] = {
    NEWEST: lambda entry: 0,
    "worst": lambda entry: _TONES.index(entry.tone),
    "lowest loss": lambda entry: (
        entry.loss if entry.loss is not None and math.isfinite(entry.loss) else math.inf
    ),
    "most steps": lambda entry: -entry.steps,
    "script": lambda entry: entry.script,
}


class Listing(NamedTuple):
    """One page of the list."""

    entries: Sequence[Entry]
    matching: int
    total: int
    unread: int  # journals that were not read yet
    page: int
    pages: int


class Runs:
    def __init__(self, *folders: Path, shelves: Sequence[Shelf] = ()) -> None:
        self.folders = folders
        self.shelves = shelves
        self.changes = 0  # grows when something is to be shown anew
        self._lock = threading.Lock()
        self._looked = -math.inf
        self._places: dict[str, tuple[Path, float]] = {}  # name → journal, and when its folder last changed
        self._shelved: dict[str, tuple[Shelf, str]] = {}  # name → where it is, and its name there
        self._known: dict[str, tuple[Key, Entry]] = {}
        self._alive: frozenset[str] = frozenset()
        self._unread = 0
        self._good_for = FRESH

    def find(self, name: str) -> Path | None:
        """The journal of a run that is in the folder, by the name of its own."""
        self.look()
        if name in self._shelved:
            shelf, own = self._shelved[name]
            with suppress(JournalError):
                return shelf.fetch(own)
        place = self._places.get(name)
        return place[0] if place is not None and place[0].is_file() else None

    def reaches(self, name: str) -> bool:
        """Whether a run can be asked to save or to stop: not where only a copy of its journal is here."""
        return name not in self._shelved

    def look(self) -> None:
        with self._lock:
            began = time.monotonic()
            fresh = began - self._looked < self._good_for
            if fresh and not self._unread:
                return
            if not fresh:
                self._look_around()
            self._read(began + BUDGET, again=not fresh)
            alive = frozenset(name for name, (_key, entry) in self._known.items() if entry.running)
            self.changes += alive != self._alive
            self._alive = alive
            if not fresh:  # a large folder is looked at less often
                self._looked = time.monotonic()
                self._good_for = max(FRESH, 3.0 * min(self._looked - began, BUDGET))

    def _look_around(self) -> None:
        before = {*self._places, *self._shelved}
        self._places = dict(self._walk())
        self._look_at_shelves()
        gone = before - {*self._places, *self._shelved}
        for name in gone:
            self._known.pop(name, None)
        self.changes += bool(gone)

    def _look_at_shelves(self) -> None:
        shelved: dict[str, tuple[Shelf, str]] = {}
        for number, shelf in enumerate(self.shelves, len(self.folders) + 1):
            for own, head in shelf.heads(BUDGET).items():
                name = own if own not in self._places and own not in shelved else f"{own}~{number}"
                shelved[name] = shelf, own
                key: Key = ((int(head.time * 1e9), head.parts),)
                if self._known.get(name, (None,))[0] != key:
                    root = str(shelf) if len(self.folders) + len(self.shelves) > 1 else ""
                    self._known[name] = key, head.entry._replace(name=name, root=root)
                    self.changes += 1
        self._shelved = shelved

    def listing(self, query: str = "", wanted: str = "", page: int = 1, order: str = NEWEST) -> Listing:
        self.look()
        parts = query.lower().split()
        found = [
            entry
            for _key, entry in list(self._known.values())
            if all(part in f"{entry.name} {entry.script} {entry.message}".lower() for part in parts)
            and (not wanted or wanted == (entry.state if wanted == "running" else entry.tone))
        ]
        found.sort(key=lambda entry: (entry.started, entry.name), reverse=True)
        found.sort(key=ORDERS[order])
        pages = max(1, -(-len(found) // PER_PAGE))
        page = min(max(page, 1), pages)
        shown = found[(page - 1) * PER_PAGE : page * PER_PAGE]
        total = len(self._places) + len(self._shelved)
        return Listing(shown, len(found), total, self._unread, page, pages)

    def _walk(self) -> Iterator[tuple[str, tuple[Path, float]]]:
        """Of two folders that hold runs of the same name, the second has the number of its folder behind it."""
        taken: set[str] = set()
        for folder in self.folders:
            for name, place in _runs_of(folder):
                own = name if name not in taken else f"{name}~{self.folders.index(folder) + 1}"
                taken.add(own)
                yield own, place

    def _root(self, journal: Path) -> str:
        if len(self.folders) + len(self.shelves) == 1:
            return ""
        return next((short(each) for each in self.folders if journal.is_relative_to(each)), "")

    def _read(self, end: float, *, again: bool) -> None:
        """What is new; and `again` what has changed."""
        self._unread = 0
        for name, (journal, changed) in sorted(self._places.items(), key=lambda item: -item[1][1]):
            known = self._known.get(name)
            if known is not None and not again:
                continue
            if known is None and time.monotonic() > end:
                self._unread += 1
                continue
            key = key_of(journal)
            if not key:
                self._places.pop(name)  # a folder without a journal is not a run
                self.changes += self._known.pop(name, None) is not None
            elif known is None or known[0] != key:
                self._known[name] = key, read(name, journal, changed)._replace(root=self._root(journal))
                self.changes += 1


def _runs_of(folder: Path) -> Iterator[tuple[str, tuple[Path, float]]]:
    own = folder / schema.FILE  # --folder DIR: the first run is in it, the others below
    if own.is_file():
        yield folder.absolute().name, (own, own.stat().st_mtime)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    if entry.is_dir():
                        yield entry.name, (Path(entry.path) / schema.FILE, entry.stat().st_mtime)
                except OSError:
                    continue  # it goes away while we look
    except OSError:
        return  # no run was made yet, or the folder is gone
