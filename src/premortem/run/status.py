"""The status of a run in one line, while a person watches its terminal.

    step 1,204 · loss 0.3127 · no findings · 41 steps/s · data 12% · GPU 18.3 GiB

A thread looks twice a second at numbers that others have put down: the watcher its latest step, the journal's writer
the memory and the samples of what the main thread does. The run does nothing for it. The line is written again only
after a step, so that nothing is drawn beneath a prompt of `input` or a debugger.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from premortem.amounts import scaled
from premortem.sinks.base import Outcome
from premortem.terminal.status_line import StatusLine, suitable

if TYPE_CHECKING:
    from premortem.events import StepStats
    from premortem.findings import Finding
    from premortem.journal.write import Journal
    from premortem.run.watcher import Watcher

LOOKS = 0.5  # seconds between two
DRAWN = 1.0  # ... between two drawings, at least
LATELY = 30.0  # ... that rate and shares are about
SAMPLES = 20  # of what the main thread does, before a share is worth saying
_IDLE = ("importing", "compiling")  # not a part of any step


class Look(NamedTuple):
    at: float
    step: int
    data: int
    busy: int


class RunStatus:
    """Keeps the line. Made by `vitals_for`."""

    def __init__(self, line: StatusLine, watcher: Watcher, journal: Journal | None) -> None:
        self.line = line
        self._watcher = watcher
        self._journal = journal
        self._looks: deque[Look] = deque(maxlen=int(LATELY / LOOKS))
        self._told = 0  # the step that was drawn last
        self._drawn = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="premortem-status", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Take the line away for good. More than one call does no harm."""
        self._over.set()
        self.line.close()

    def _run(self) -> None:
        while not self._over.wait(LOOKS):
            try:
                self._look()
            except Exception as error:  # noqa: BLE001 - no status is better than a broken run
                self._watcher.fault("status", error)
                self.close()

    def _look(self) -> None:
        now, step = time.monotonic(), self._watcher.steps
        if not step:
            return
        seen = Counter(self._journal.pulse.seen) if self._journal is not None else Counter[str]()
        busy = sum(seen.values()) - sum(seen[name] for name in _IDLE)
        self._looks.append(Look(now, step, seen["data"], busy))
        wanted = step > self._told and now - self._drawn >= DRAWN and self.line.silent()
        if not wanted and not self.line.shown:
            return
        if not self.line.alone():
            self.line.make_way()
        elif wanted and self.line.draw(list(self._words()), when=self.line.silent):
            self._told, self._drawn = step, now

    def _words(self) -> Iterator[str]:
        """The most important first: a narrow terminal shows fewer."""
        yield f"step {self._watcher.steps:,}"
        yield from _loss(self._watcher.latest)
        yield _health(self._watcher.findings)
        yield from _pace(self._looks[0], self._looks[-1])
        yield from _waiting(self._looks[0], self._looks[-1])
        if self._journal is not None:
            yield from _memory(self._journal.gauged)


def status_for(watcher: Watcher, journal: Journal | None) -> RunStatus | None:
    """None where there is no terminal, or where it cannot show the line."""
    if not suitable(os.environ):
        return None
    with suppress(OSError):
        return RunStatus(StatusLine(colour=not os.environ.get("NO_COLOR")), watcher, journal)
    return None


def _loss(latest: StepStats | None) -> Iterator[str]:
    if latest is not None and latest.loss is not None:
        yield f"loss {latest.loss:.4g}"


def _health(findings: list[Finding]) -> str:
    return Outcome(findings=findings).verdict if findings else "no findings"


def _pace(first: Look, last: Look) -> Iterator[str]:
    steps, seconds = last.step - first.step, last.at - first.at
    if steps and seconds >= 1.0:
        rate = steps / seconds
        yield (
            f"{rate:,.0f} steps/s"
            if rate >= 10
            else f"{rate:.1f} steps/s"
            if rate >= 1
            else f"{1 / rate:.1f} s/step"
        )


def _waiting(first: Look, last: Look) -> Iterator[str]:
    """How much of the time went into data. Nothing where no DataLoader was ever seen at work."""
    busy = last.busy - first.busy
    if last.data and busy >= SAMPLES:
        yield f"data {(last.data - first.data) / busy:.0%}"


def _memory(gauged: Mapping[str, float]) -> Iterator[str]:
    """Of the fullest GPU; without one, of the process."""
    taken = [number for name, number in gauged.items() if name.endswith("taken from the device")]
    held = max(taken, default=gauged.get("memory of the process"))
    if held:
        amount, unit = scaled(held)
        yield f"{'GPU' if taken else 'RAM'} {amount:.1f} {unit}"
