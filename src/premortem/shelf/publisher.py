"""A run that is on a shelf while it trains: new rows of its journal are sent every few seconds, on a thread.

The journal is the queue. What could not be sent, because the network was away or the process was killed, is still in it, and is
sent with the next attempt, or by the next run in the same folder that publishes to the same place.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem import redaction
from premortem.files import private, untrusted
from premortem.files.plain import exact
from premortem.journal import replica, schema
from premortem.journal.folders import STAMP
from premortem.shelf import layout
from premortem.vault.remote import Remote, first_line

EVERY = 3.0  # seconds between two looks at the journal
BEAT = 20.0  # ... after which the head is written again, so that whoever reads it knows that the run is alive
LONGEST = 60.0  # ... between two attempts while nothing can be sent
FULL = (
    64 << 10
)  # bytes of a part, or so many seconds of a run, after which another one is begun: until then it is written again,
MINUTE = 60.0  # so that a day of training is a thousand files, and not thirty thousand
WAIT = 15.0  # ... for the rest, when the run is over
FILE = "publish.json"  # in the run's folder: where it is published, and how far that is


class Publisher:
    """One run. Nothing here is ever raised into it."""

    def __init__(self, url: str, folder: Path, on_problem: Callable[[str], None]) -> None:
        self.remote = Remote(url)
        self.remote.check()
        self._folder = folder
        self._on_problem = on_problem
        self.runs = [_Run(self.remote, folder)]
        self.runs += _left_over(self.remote, folder)
        self._failures = 0
        self._reported = False
        self._bell = threading.Event()
        self._closing = False
        self._done = threading.Event()
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._work, name="premortem-publish", daemon=True)

    @property
    def address(self) -> str:
        return f"{self.remote.shown.rstrip('/')}/{self.runs[0].name}"

    def start(self) -> None:
        self._thread.start()

    def close(self, patience: float = WAIT) -> None:
        """After the journal was closed. Says what is missing on the shelf."""
        if os.getpid() != self._pid:
            return
        self._closing = True
        self._bell.set()
        if not self._done.wait(patience):
            self._on_problem(
                f"the end of this run is not on the shelf {self.remote.shown} yet; "
                "the next run here that publishes there sends it too"
            )

    # --- the thread ----------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            last = self._closing  # looked at before the journal is, so that its end is among what is sent
            sent = self._attempt(last=last)
            if last and sent:
                self._done.set()
                return
            pause = EVERY if sent else min(LONGEST, 2.0 ** min(self._failures, 6))
            if last:
                pause = min(pause, 1.0)
            self._bell.wait(pause)
            if not last:
                self._bell.clear()

    def _attempt(self, *, last: bool) -> bool:
        for run in list(self.runs):
            try:
                over = last or run is not self.runs[0]
                run.send(over=over)
                if over:
                    run.collect()
            except Exception as error:  # noqa: BLE001 - the network, the server, the library, the disk: again, a little later
                self._failed(error)
                return False
            if run is not self.runs[0]:
                self.runs.remove(run)  # one that had been left over is whole now
        self._failures = 0
        return True

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        self.remote.forget()
        if self._failures >= 3 and not self._reported:
            self._reported = True
            with suppress(Exception):  # there is no reader left
                self._on_problem(
                    f"this run cannot be published to {self.remote.shown} ({first_line(error)}); it goes on, and so do the attempts"
                )


class _Run:
    """One journal, and how much of it is on the shelf."""

    def __init__(self, remote: Remote, folder: Path, known: dict[str, Any] | None = None) -> None:
        self._remote = remote
        self._folder = folder
        known = known or {}
        self.name = str(known.get("name") or _new_name(folder))
        self._parts = int(known.get("parts") or 0)
        self._sent = replica.Sent(known.get("last"), known.get("values"))
        self._beat = 0.0
        self._begun = time.monotonic()  # the part that is not full yet
        self._digest = b""  # of its last version
        self._about: dict[str, Any] = {}

    @property
    def behind(self) -> bool:
        return next(replica.unsent(self._folder / schema.FILE, self._sent), None) is not None

    def send(self, *, over: bool) -> None:
        """What the journal has and the shelf has not. Raises anything."""
        news = False
        parts = list(replica.unsent(self._folder / schema.FILE, self._sent))
        for number, (part, sent) in enumerate(parts, 1):
            content = layout.pack(part)
            digest = hashlib.sha256(content).digest()
            if digest != self._digest:
                self._remote.write(layout.part_name(self.name, self._parts + 1), content)
                news = True
            self._digest = digest
            old = time.monotonic() - self._begun > MINUTE
            if over or number < len(parts) or len(content) > FULL or old:
                self._parts, self._sent = self._parts + 1, sent
                self._begun, self._digest = time.monotonic(), b""
        if not news and time.monotonic() - self._beat < BEAT:
            return
        started = self._parts + bool(self._digest)
        self._about = layout.head(self.name, self._folder / schema.FILE, started, time.time())
        self._remote.write(layout.head_name(self.name), layout.write_head(self._about))
        self._beat = time.monotonic()
        if news:
            self._note()

    def collect(self) -> None:
        """Into the index, now that its head will not change any more. A help: it may fail."""
        if self._about:
            from premortem.shelf.index import add

            with suppress(Exception):
                add(self._remote, {self.name: self._about})

    def _note(self) -> None:
        record = {
            "url": self._remote.shown,
            "name": self.name,
            "parts": self._parts,
            **self._sent.to_json(),
        }
        private.replace_text(self._folder / FILE, exact(record))


def _new_name(folder: Path) -> str:
    """Another one than any other machine's, also where all of them start at once with the same number."""
    parent = folder.parent.name
    own = f"{parent}.{folder.name}" if folder.name.startswith("rank-") else folder.name
    if not own[:1].isdigit():
        own = f"{time.strftime(STAMP, time.gmtime())}-{own}"
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "._+-") else "_" for letter in own
    )
    return f"{plain[:150]}-{secrets.token_hex(3)}"


def _left_over(remote: Remote, folder: Path) -> list[_Run]:
    """Runs beside this one that were published to the same place and whose processes have ended before all was sent."""
    from premortem.journal import Run
    from premortem.report import verdict

    found = []
    for file in sorted(folder.parent.glob(f"*/{FILE}")):
        with suppress(Exception):  # whatever is wrong with another run is not this one's problem
            known = untrusted.loads(untrusted.read_text(file))
            url = redaction.redacted(str(known["url"]))
            journal = file.parent / schema.FILE
            if file.parent == folder or url != remote.shown or not layout.is_name(known["name"]):
                continue
            with Run(journal) as run:
                alive = run.meta.get("reason") == "running" and verdict.alive(run.meta, journal)
            left = _Run(remote, file.parent, known)
            if not alive and left.behind:
                found.append(left)
    return found
