"""Several processes of one script, in one sandbox: what one rank writes, another may read.

A rank that dies or ends early leaves the others in a collective, where they would wait for ever. So no rank waits for long
after the first has gone.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from premortem.scriptrun.sandbox import kernel

# Seconds, for ranks that were about to end too, or learn from their library that a peer is gone.
_GRACE = 10.0
_SHORT = 2.0  # where one has died, nothing that the others could still do is of use
_LOOK = 0.02


@dataclass(frozen=True, kw_only=True)
class Place:
    """What makes one rank differ from the others."""

    argv: list[str]
    environment: dict[str, str]


def printed(shared: Path, rank: int) -> Path:
    return shared / f"printed-{rank}.txt"


def lead(places: int, play: Callable[[int], None], tell: Callable[..., None]) -> None:
    """Start them all, and report in which order they ended, and how. `play` does not return."""
    leader = os.getpid()
    pids: dict[int, int] = {}
    for rank in range(places):
        pid = os.fork()
        if not pid:
            kernel.die_with_parent(leader)
            play(rank)
            os._exit(1)
        pids[pid] = rank
    until, died = float("inf"), False
    while pids and time.monotonic() < until:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid not in pids:  # none has ended, or one of those that were left to us
            time.sleep(_LOOK)
            continue
        code = os.waitstatus_to_exitcode(status)
        tell(gone=pids.pop(pid), code=code)
        died = died or bool(code)
        until = min(until, time.monotonic() + (_SHORT if died else _GRACE))
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def to_json(places: list[Place]) -> list[dict[str, Any]]:
    return [vars(place) for place in places]
