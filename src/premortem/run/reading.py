"""The script's own files, read beside the run: from its first step on, in a thread that gives way to the training."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from premortem.convictions.table import READ
from premortem.events import SourceRead

# Held while lint is imported: a process that is forked in the middle of an import could never import that module.
_importing = threading.Lock()
os.register_at_fork(
    before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_importing.release
)
PATIENCE = 5.0  # seconds that the end of a run waits for it: a large project takes one
# Where other programs want the processor it may have had next to nothing of it: then a part of the time since it began, at most this.
SHARE, MOST = 0.1, 30.0
NICE = 10  # how far behind the training the thread stands, where threads have a priority of their own

# Also where reading failed: events are kept for the effects until something was read.
_NOTHING = SourceRead(files=0)


class Reading:
    """Started once; `read` is there when it is done, and is taken by the thread that trains."""

    def __init__(self, fault: Callable[[str, BaseException], None]) -> None:
        self._fault = fault
        self._thread: threading.Thread | None = None
        self._read: SourceRead | None = None
        self.begun = False
        self._began = 0.0

    def begin(self) -> None:
        """Which modules are imported is asked here, in the thread that imports them."""
        if self.begun:
            return
        self.begun = True
        self._began = time.monotonic()
        paths = own_files()
        if not paths:
            self._read = _NOTHING
            return
        self._thread = threading.Thread(
            target=self._work, args=(paths,), name="premortem-reading", daemon=True
        )
        self._thread.start()

    def _work(self, paths: list[str]) -> None:
        if sys.platform == "linux":
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        try:
            with _importing:
                from premortem.lint import flow, imported, kinds, rules  # noqa: F401 - all that reading imports later
            self._read = imported.read(paths, READ)
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self._fault("reading", error)
            self._read = _NOTHING

    def look(self, patience: float) -> SourceRead | None:
        """What was read, without taking it; None while it is not there."""
        if self._read is None and self._thread is not None:
            self._thread.join(patience)
        return self._read

    def take(self, patience: float = 0.0) -> SourceRead | None:
        """What was read, once; None while it is not there."""
        if self._read is None and patience and self._thread is not None:
            self._thread.join(max(patience, min(MOST, SHARE * (time.monotonic() - self._began))))
        read, self._read = self._read, None
        return read


def own_files() -> list[str]:
    """Of the user's own modules, the script first, then what lies nearest to it."""
    from premortem.probes.files_read import user_files

    entry = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    folder = os.path.dirname(os.path.abspath(entry))  # noqa: PTH120, PTH100 - as the interpreter spells it

    def distance(path: str) -> tuple[bool, int, str]:
        full = os.path.abspath(path)  # noqa: PTH100 - likewise
        shared = os.path.commonpath([folder, full]) if entry else ""
        return path != entry, -len(shared), path

    return sorted(user_files(), key=distance)
