"""No process is left: a script is ended with all that it started, however that was started."""

import os
import signal
import time
from contextlib import suppress

_ROUNDS = 200
_PAUSE = 0.01


def end_descendants(group: int | None = None) -> None:
    """End every process below this one, until there is none.

    This process must adopt orphans (`kernel.adopt_orphans`): whatever a script has started, in sessions of their own
    too, comes to it when those in between are gone. Where that is not to be had, the process group goes."""
    if group:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    for _ in range(_ROUNDS):
        for pid in children():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not _reaped():
            return
        time.sleep(_PAUSE)


def children() -> list[int]:
    """Of this process, by /proc; none where there is no such thing."""
    me, found = os.getpid(), []
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - names
    except OSError:
        return []
    for name in names:
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                if int(file.read().rpartition(b")")[2].split()[1]) == me:
                    found.append(int(name))
    return found


def _reaped() -> bool:
    """Take leave of those that have ended. Whether there may be more."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True
