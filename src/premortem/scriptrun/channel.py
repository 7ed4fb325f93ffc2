"""The results that the script's process sends: one line of JSON each, written at once.

A result that was sent stays, whatever the script does next and however it ends.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from premortem.files import untrusted
from premortem.files.plain import dumps


class Channel:
    """Opened before the sandbox is entered; a worker of the script sends nothing."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._more: dict[str, Any] = {}

    def speak_as(self, **more: Any) -> None:
        """In a process of several that all write to one file: what it tells carries these words."""
        self._pid = os.getpid()
        self._more = more

    def tell(self, **words: Any) -> None:
        if os.getpid() == self._pid:
            line = (dumps(words | self._more) + "\n").encode()
            with self._lock:
                while line:
                    line = line[os.write(self._descriptor, line) :]


class Reader:
    """What was sent so far. A line that is not whole yet is read the next time: the process may be writing, or was killed
    while it wrote."""

    def __init__(self, file: Path, heard: Callable[[dict[str, Any]], None] | None = None) -> None:
        self.lines: list[dict[str, Any]] = []
        self.heard = heard
        self._file = file
        self._place = 0

    def read(self) -> None:
        if not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._place)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._place += len(whole) + len(newline)
        for line in whole.splitlines():
            try:
                record = untrusted.loads(line.decode())
            except ValueError:
                continue
            self.lines.append(record)
            if self.heard is not None:
                self.heard(record)
