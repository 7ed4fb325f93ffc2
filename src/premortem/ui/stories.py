"""Runs that are being looked at: each journal is read once for each change of it, for all readers."""

import json
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from premortem.errors import JournalError
from premortem.report import html, story, verdict
from premortem.report.listed import Key, key_of

KEPT = 8
AT_LEAST = 1.0  # seconds between two readings of a run that is being written
SHARE = 5.0  # ... and so many times as long as a reading takes: watching must not cost a core


@dataclass
class Opened:
    """A run as it was at one moment."""

    key: Key
    story: story.Story
    running: bool
    seconds: float  # that it took to read
    read: float
    drawings: dict[str, html.Drawing]
    drawn: dict[str, str] = field(default_factory=dict)

    def plot(self, name: str) -> str:
        """As JSON. Raises KeyError."""
        if name not in self.drawn:
            self.drawn[name] = json.dumps(html.encoded(self.drawings[name]), allow_nan=False)
        return self.drawn[name]


class Stories:
    def __init__(self) -> None:
        self._opened: OrderedDict[Path, Opened] = OrderedDict()
        self._locks: dict[Path, threading.Lock] = {}
        self._lock = threading.Lock()

    def open(self, journal: Path) -> Opened:
        """Raises JournalError."""
        with self._lock:
            own = self._locks.setdefault(journal, threading.Lock())
        with own:
            before = self._opened.get(journal)
            key = key_of(journal)
            if before is not None and (key == before.key or not due(before)) and key:
                if before.running == alive(before.story):
                    return before
            began = time.monotonic()
            read = story.read(journal)
            running = alive(read)
            if running:
                read.verdict = read.verdict._replace(ending="It is running.")
                read.meta["seconds"] = since(read.meta.get("started"))  # its own are written at the end
            now = time.monotonic()
            with story.readable(journal):
                drawings = html.drawings(read)
            opened = Opened(key, read, running, now - began, now, drawings)
            with self._lock:
                self._opened[journal] = opened
                self._opened.move_to_end(journal)
                while len(self._opened) > KEPT:
                    self._locks.pop(self._opened.popitem(last=False)[0], None)
            return opened

    def state(self, journal: Path) -> str:
        """Another word whenever the page would be another one; "gone" when there is no run any more."""
        key = key_of(journal)
        if not key:
            return "gone"
        try:
            opened = self.open(journal)
        except JournalError:
            return f"unreadable {key}"
        return f"{opened.read} {opened.running}"


def due(opened: Opened) -> bool:
    return time.monotonic() - opened.read > max(AT_LEAST, SHARE * opened.seconds)


def since(started: object) -> float | None:
    try:
        return time.time() - datetime.fromisoformat(str(started)).timestamp()
    except ValueError:
        return None


def alive(read: story.Story) -> bool:
    return read.meta.get("reason") == "running" and verdict.alive(read.meta, read.path)
