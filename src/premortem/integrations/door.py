"""What the doors have in common: a `premortem.watch` that a framework's callbacks open and close."""

from __future__ import annotations

import atexit
from typing import Any

from premortem.findings import Finding
from premortem.run.watch import watch
from premortem.run.watcher import watched


class Door:
    """Takes the options of `premortem.watch`. Where the process is watched already (`premortem run`), it stays shut."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._watch: watch | None = None
        self._found: list[Finding] = []

    @property
    def findings(self) -> list[Finding]:
        """Root causes, errors first: of the training that runs, or of the last one."""
        return self._watch.findings if self._watch is not None else self._found

    def open(self, *objects: Any, speaks: bool = True) -> None:
        """Watch from here on. `speaks` is false on all processes but one."""
        self.close()
        if watched():
            return
        quiet = self._options.get("quiet", False) or not speaks
        self._watch = watch(*objects, **{**self._options, "quiet": quiet})
        atexit.register(self.close)  # a training that was not ended still gets its last words

    def close(self, error: BaseException | None = None) -> None:
        """The training is over. More than one call does no harm."""
        ending, self._watch = self._watch, None
        if ending is None:
            return
        atexit.unregister(self.close)
        ending.__exit__(type(error) if error is not None else None, error, None)
        self._found = ending.findings
