"""A shelf as a reader sees it: all its runs as a list, and any of them as a journal on this machine.

The list is brought up to date on a thread, so that no page waits for a network. A journal is brought up to date when it is
opened: only the parts that are new are read.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path

from premortem.errors import JournalError, PremortemError, UsageError
from premortem.files import private, untrusted
from premortem.files.trust import NoKey, state
from premortem.journal import schema
from premortem.journal.replica import Replica
from premortem.shelf import index, layout
from premortem.shelf.layout import Head
from premortem.vault.garbage import uncollected
from premortem.vault.remote import Remote, first_line

EVERY = 3.0  # seconds between two looks at the shelf: as often as a run sends something
SELDOM = 30.0  # ... at most; a person who waits for a new run looks again after that
SHARE = (
    0.1  # of the time may go into looking: the names of ten thousand runs keep a processor busy for a second
)
FRESH = 1.0  # seconds for which a journal that was brought up to date is good enough
AT_ONCE = 500  # files that are read together
COLLECTED = 20  # heads of runs that are over, and that the index lacks, after which a reader adds them


def is_shelf(place: str) -> bool:
    """Whether runs were published there: an address, or a folder that has their heads."""
    return "://" in place or (Path(place) / layout.HEADS).is_dir()


class Shelf:
    def __init__(self, url: str, cache: Path | None = None) -> None:
        self.remote = Remote(url)
        self.remote.check()
        self.problem = ""  # of the last look
        self._cache = (cache or _cache()) / hashlib.sha256(url.encode()).hexdigest()[:16]
        self._known: dict[str, Head] = {}
        self._words: dict[str, str] = {}  # head → the word of its last version that was read
        self._indexed: dict[str, Head] | None = None
        self._brought: dict[str, float] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self._looked = threading.Event()

    def __str__(self) -> str:
        return self.remote.shown

    def follow(self) -> None:
        """Look again and again, for as long as this process lives."""
        threading.Thread(target=self._follow, name="premortem-shelf", daemon=True).start()

    def _follow(self) -> None:
        while True:
            began = time.monotonic()
            try:
                self.look()
                self.problem = ""
            except Exception as error:  # noqa: BLE001 - the network, the server, the library: it is tried again, and the page shows it
                self.problem = first_line(error)
                self.remote.forget()
            self._looked.set()
            time.sleep(pause(time.monotonic() - began))

    def heads(self, patience: float = 0.0) -> dict[str, Head]:
        """All runs that are known. The first look may be waited for."""
        self._looked.wait(patience)
        return dict(self._known)

    def look(self) -> None:
        """Bring the list up to date. Raises anything."""
        if self._indexed is None:
            self._indexed = self._read_index()
            self._known = dict(self._indexed)
            self._looked.set()  # a list from the index is better than none
        words = self.remote.listed(layout.HEADS)
        names = {_run_of(file): word for file, word in words.items()}
        names = {name: word for name, word in names.items() if layout.is_name(name)}
        news = [
            name
            for name, word in names.items()
            if name not in self._indexed and self._words.get(name) != word
        ]
        known = {name: head for name, head in self._known.items() if name in names}
        for first in range(0, len(news), AT_ONCE):
            some = news[first : first + AT_ONCE]
            found = self.remote.read_all([layout.head_name(name) for name in some], layout.HEAD)
            for name in some:
                head = self._head(name, found.get(layout.head_name(name)))
                if head is not None:
                    known[name] = head
                    self._words[name] = names[name]
            self._known = dict(known)
        self._known = known
        self._collect()

    def _collect(self) -> None:
        """What the index lacks is written into it, by whoever may."""
        assert self._indexed is not None  # noqa: S101 - `look` has read it
        over = {name: head for name, head in self._known.items() if head.over and name not in self._indexed}
        if len(over) >= COLLECTED:
            self._indexed.update(over)
            with suppress(Exception):  # this shelf may be read-only for us
                index.add(self.remote, {name: head.about for name, head in over.items()})

    def _read_index(self) -> dict[str, Head]:
        found = {}
        with uncollected():  # ten thousand heads are many objects, and none of them is garbage
            for name, about in index.read(self.remote).items():
                with suppress(JournalError):
                    head = layout.read_head(name, about, self._journal(name))
                    if head.over:
                        found[name] = head
        return found

    def _head(self, name: str, content: bytes | None) -> Head | None:
        if content is None:
            return None
        try:
            return layout.read_head(name, untrusted.loads(content), self._journal(name))
        except (JournalError, ValueError):
            return None

    def _journal(self, name: str) -> Path:
        return Path(f"{self._cache}/{name}/{schema.FILE}")  # ten thousand times: half of what two joins cost

    def named(self, word: str) -> str:
        """The run of this name, or the only one whose name begins so. Raises PremortemError."""
        try:
            files = self.remote.listed(layout.HEADS)
        except Exception as error:
            raise PremortemError(f"the shelf {self} cannot be read ({first_line(error)})") from error
        names = sorted(filter(layout.is_name, map(_run_of, files)))
        found = [name for name in names if name == word] or [name for name in names if name.startswith(word)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                f"{len(found)} runs on {self} have names that begin with `{word}`: {', '.join(found[:3])} …"
            )
        newest = f"; the newest is `{names[-1]}`" if names else ", and no other run either"
        raise UsageError(f"there is no run `{word}` on {self}{newest}")

    def fetch(self, name: str) -> Path:
        """Its journal, as it is on the shelf now. Raises JournalError."""
        journal = self._journal(name)
        with self._lock:
            own = self._locks.setdefault(name, threading.Lock())
        with own:
            if time.monotonic() - self._brought.get(name, -FRESH) < FRESH:
                return journal
            try:
                self._bring(name, journal)
            except JournalError:
                raise
            except Exception as error:
                if journal.is_file():
                    return journal  # as it was when the shelf could last be read
                raise JournalError(
                    f"the run `{name}` cannot be read from the shelf {self} ({first_line(error)})"
                ) from error
            self._brought[name] = time.monotonic()
        return journal

    def _bring(self, name: str, journal: Path) -> None:
        head = self._head(name, self.remote.read(layout.head_name(name), layout.HEAD))
        if head is None:
            raise JournalError(f"the head of the run `{name}` on {self} is damaged")
        if journal.is_file() and journal.stat().st_mtime == head.time:
            return
        private.make_folder(journal.parent, within=self._cache.parent)
        try:
            copy = Replica(journal)
        except sqlite3.Error:  # half made, or damaged: it is only a copy
            journal.unlink(missing_ok=True)
            copy = Replica(journal)
        try:
            missing = range(copy.parts + 1, head.parts + 1)
            for first in missing[::AT_ONCE]:
                some = {
                    number: layout.part_name(name, number)
                    for number in missing
                    if 0 <= number - first < AT_ONCE
                }
                found = self.remote.read_all(list(some.values()), layout.PART)
                for number, file in some.items():
                    if file not in found:
                        raise JournalError(
                            f"part {number} of the run `{name}` on {self} is missing, or too large"
                        )
                    # The last one may still grow: it is read again the next time.
                    copy.add(layout.unpack(found[file]), min(number, head.parts - 1))
        finally:
            copy.close()
        # A run of another machine counts as alive while its journal is written: this copy is as old as the head says.
        os.utime(journal, (head.time, head.time))


def pause(spent: float) -> float:
    """Seconds until the next look, after one that took so long."""
    return min(max(EVERY, spent / SHARE - spent), SELDOM)


def _run_of(file: str) -> str:
    return file.removeprefix(layout.HEADS).removesuffix(".json")


def _cache() -> Path:
    try:
        return state() / "premortem" / "shelf"
    except NoKey as error:
        raise PremortemError(f"there is no place for copies of runs ({error})") from error
