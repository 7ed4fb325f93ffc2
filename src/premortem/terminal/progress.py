"""What a verb is doing, how far it is and how long it will take. The one way in which verbs show progress.

    drill ██████░░░░░░░░░░░░░░ 7 of 26 · nan-sample · about 80 s left       at a terminal, redrawn in place
    premortem drill: 7 of 26, nan-sample, about 80 s left                   elsewhere, a line now and then

Everything goes to stderr, so that stdout has the answer alone. Work that ends within a second shows nothing at all.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from premortem.amounts import roughly
from premortem.terminal.status_line import StatusLine, suitable, utf8

PATIENCE = 1.0  # seconds before anything is shown
TICK = 0.5  # ... between two drawings
BEGIN = 5.0  # ... before the first plain line: what is over soon leaves no trace in a log
APART = 10.0  # ... between two of them
WIDTH = 20  # characters of the bar
PERCENT = "%"  # the unit of what is not counted in pieces
_FEW = 2  # items before the time of the rest is estimated


class Progress:
    """May be called from several threads. Made by `progress`; alone it shows nothing."""

    def __init__(self, verb: str = "") -> None:
        self.verb = verb
        self._lock = threading.Lock()
        self._doing: dict[int, str] = {}  # by thread, in the order in which they began
        self._done = self._total = 0
        self._unit = ""
        self._since = self._began = time.monotonic()
        self._until: float | None = None

    def say(self, sentence: str) -> None:
        """What this thread is doing from now on; empty: nothing."""
        with self._lock:
            self._doing.pop(threading.get_ident(), None)
            if sentence:
                self._doing[threading.get_ident()] = sentence

    def count(self, total: int, unit: str = "") -> None:
        """There are so many pieces of work, 0 where that is not known, and none is done."""
        with self._lock:
            self._done, self._total, self._unit = 0, total, unit
            self._since = time.monotonic()

    def advance(self, pieces: int = 1) -> None:
        with self._lock:
            self._done += pieces

    def limit(self, until: float) -> None:
        """It ends at this time of `time.monotonic` at the latest."""
        self._until = until

    # --- in words ----------------------------------------------------------------------------

    def words(self, now: float) -> list[str]:
        """How far, what, how long: as much of it as is known."""
        with self._lock:
            far = ""
            if self._unit == PERCENT:
                far = f"{100 * self._done / max(self._total, 1):.0f} %"
            elif self._total or self._unit:
                whole = f" of {self._total}" if self._total else ""
                far = f"{self._done}{whole} {self._unit}".strip()
            doing = list(self._doing.values())
            left = self._left(now)
        return [word for word in (far, *doing, left or f"{now - self._began:.0f} s") if word]

    def share(self, now: float) -> float | None:
        """How much of the whole is done; None where that is not known."""
        shares = [self._done / self._total] if self._total else []
        if self._until is not None and self._until > self._began:
            shares.append((now - self._began) / (self._until - self._began))
        return min(1.0, max(shares)) if shares else None

    def _left(self, now: float) -> str:
        most = self._until - now if self._until is not None else None
        guess = None
        if self._total and _FEW <= self._done < self._total:
            guess = (now - self._since) / self._done * (self._total - self._done)
        if most is not None and (guess is None or guess > most):
            return f"at most {roughly(max(most, 0.0))} left"
        return f"about {roughly(guess)} left" if guess is not None else ""


@contextmanager
def progress(verb: str, first: str = "", *, quiet: bool = False, plain: bool = True) -> Iterator[Progress]:
    """Shows what is given to the object that it yields. `plain`: also where there is no terminal, in lines."""
    shown = Progress(verb)
    shown.say(first)
    stream = sys.stderr
    if quiet or stream is None:
        yield shown
        return
    line = StatusLine(colour=not os.environ.get("NO_COLOR"), shared=False) if suitable(os.environ) else None
    if line is None and not plain:
        yield shown
        return
    from premortem.terminal.printed_lines import Tee

    tees = [Tee(each, None, line.passing) for each in (sys.stdout, stream)] if line is not None else []
    over = threading.Event()
    thread = threading.Thread(
        target=_draw if line is not None else _write, args=(shown, line or stream, over), daemon=True
    )
    thread.start()
    try:
        yield shown
    finally:
        over.set()
        if line is not None:
            line.close()
        for tee in reversed(tees):
            tee.close()


def _draw(shown: Progress, line: StatusLine, over: threading.Event) -> None:
    wait = PATIENCE
    while not over.wait(wait):
        wait, now = TICK, time.monotonic()
        share = shown.share(now)
        head = f"{shown.verb} {bar(share)} " if share is not None else f"{shown.verb}: "
        first, *words = shown.words(now)
        line.draw([head + first, *words])


def _write(shown: Progress, stream: object, over: threading.Event) -> None:
    wait, said = BEGIN, ""
    while not over.wait(wait):
        wait = APART
        text = ", ".join(shown.words(time.monotonic()))
        if text != said:
            with suppress(OSError, ValueError):  # the stream is gone
                print(f"premortem {shown.verb}: {text}", file=stream, flush=True)  # type: ignore[call-overload]
            said = text


def bar(share: float) -> str:
    full, empty = "█░" if utf8() else "#."
    done = int(WIDTH * share)
    return full * done + empty * (WIDTH - done)
