"""A progress bar on stderr: only at a terminal, and only when it takes long."""

from __future__ import annotations

import sys
import time
from typing import Any

PATIENCE = 1.0  # seconds


class Silent:
    """Nobody is looking."""

    def begin(self, total: int) -> None: ...
    def advance(self, count: int) -> None: ...
    def end(self) -> None: ...


class Bar:
    """Appears after a second; gone without a trace when the work is done."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._total = self._done = 0
        self._shown: Any = None
        self._task: Any = None

    def begin(self, total: int) -> None:
        self._total, self._done = total, 0

    def advance(self, count: int) -> None:
        self._done += count
        if self._shown is None and time.monotonic() - self._started > PATIENCE and self._done < self._total:
            from rich.console import Console
            from rich.progress import Progress

            self._shown = Progress(console=Console(stderr=True), transient=True)
            self._shown.start()
            self._task = self._shown.add_task("reading", total=self._total)
        if self._shown is not None:
            self._shown.update(self._task, completed=self._done, total=self._total)

    def end(self) -> None:
        if self._shown is not None:
            self._shown.stop()
            self._shown = None


def bar() -> Silent | Bar:
    stream = sys.stderr
    return Bar() if stream is not None and stream.isatty() else Silent()
