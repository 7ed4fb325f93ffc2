"""Steps of a run that failed, run again beside it to find the cause."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.events import Autopsied
from premortem.journal import never_fatal
from premortem.replay.beside import Autopsies

if TYPE_CHECKING:
    from premortem.run.run_report import RunReport

# Seconds for which an autopsy is waited for, when all is over.
AUTOPSY = {"finished": 45.0, "exited": 45.0, "crashed": 45.0, "stopped": 60.0}


class RunAutopsies:
    """Starts autopsies for capsules of this run, and passes their results to the watcher."""

    def __init__(self, report: RunReport) -> None:
        self._report = report
        self._autopsies: Autopsies | None = None

    def add(self, capsule: Path) -> None:
        journal, watcher = self._report.journal, self._report.watcher
        if self._autopsies is None and journal is not None and watcher is not None:
            self._autopsies = Autopsies(journal.path.parent, watcher.unexplained)
        if self._autopsies is not None:
            self._autopsies.add(capsule)

    def step_ended(self) -> None:
        if self._autopsies is not None and self._autopsies.pending:
            with never_fatal("autopsy", self._report.journal):
                self._heard(self._autopsies.heard())

    def _heard(self, records: list[dict[str, Any]]) -> None:
        for record in records:
            if self._report.watcher is not None:
                self._report.watcher.emit(Autopsied(step=int(record.get("step", 0)), record=record))

    def close(self, reason: str, hurried: Callable[[], bool]) -> None:
        """Whoever looks at a failed run wants the cause: it is worth waiting a little for."""
        autopsies, self._autopsies = self._autopsies, None
        if autopsies is None:
            return
        try:
            seconds = AUTOPSY.get(reason, 0.0) * busy()
            if seconds and autopsies.wanted:
                self._report.write()
                self._report.console.problem(
                    f"the step that failed is run again to find the cause, for {seconds:.0f} s at most (Ctrl-C ends that)"
                )
                self._heard(autopsies.last(seconds, hurried))
        except KeyboardInterrupt:
            pass
        finally:
            autopsies.close()


def busy() -> float:
    """How many times longer things take than on a machine that has nothing else to do; at least 1."""
    try:
        waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):  # Windows
        return 1.0
    return min(max(waiting, 1.0), 8.0)
