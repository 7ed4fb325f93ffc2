"""A progress bar on stderr: only at a terminal, and only when it takes long."""

from __future__ import annotations

import sys
import time
from typing import Any

PATIENCE = 1.0  # seconds


class Progress:
    """Counts the files that were read. A bar appears after a second, and is gone when the work is done."""

    def __init__(self, *, shown: bool = False) -> None:
        self._wanted = shown
        self._started = time.monotonic()
        self._total = self._done = 0
        self._bar: Any = None
        self._task: Any = None

    def begin(self, total: int) -> None:
        self._total, self._done = total, 0

    def advance(self, count: int) -> None:
        self._done += count
        late = self._wanted and time.monotonic() - self._started > PATIENCE
        if self._bar is None and late and self._done < self._total:
            from rich import progress
            from rich.console import Console

            self._bar = progress.Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("reading", total=self._total)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, total=self._total)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def at_terminal() -> Progress:
    return Progress(shown=sys.stderr is not None and sys.stderr.isatty())
