"""What the script's process tells: one line of JSON for each thing, written at once.

Whatever the script does next, and however it ends, what was told stays told.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from premortem.files import untrusted
from premortem.files.plain import dumps


class Channel:
    """Opened before the sandbox is entered; a worker of the script's has nothing to tell."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._more: dict[str, Any] = {}

    def speak_as(self, rank: int) -> None:
        """In the process of one rank of several, which all write to one file."""
        self._pid = os.getpid()
        self._more = {"rank": rank}

    def tell(self, **words: Any) -> None:
        if os.getpid() == self._pid:
            line = (dumps(words | self._more) + "\n").encode()
            with self._lock:
                while line:
                    line = line[os.write(self._descriptor, line) :]


def told(file: Path) -> list[dict[str, Any]]:
    """All whole lines: the process may be writing, or was killed while it wrote."""
    whole = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            whole.append(untrusted.loads(line))
        except ValueError:
            continue
    return whole
