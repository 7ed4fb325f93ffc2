"""A process that works beside a run: behind everything else on the machine, and never longer than the run."""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

from premortem.startup.children import family

_LOWEST = 19
_GONE = 0.5  # seconds between two looks whether the run is still there


def take_place(run: int, *, hurried: bool = False) -> None:
    """At the start of such a process. `hurried`: a person waits for it, so it does not step back."""
    outer = family()
    if outer is not None:
        outer.stand_down()  # the run has started this process, but it is no part of it
    if not hurried:
        step_back()
    end_with(run)


def step_back() -> None:
    """Behind everything else on this machine, and the first to go when memory runs out."""
    with suppress(OSError):
        os.nice(_LOWEST)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def end_with(run: int) -> None:
    """As soon as the process that started this one is gone."""
    threading.Thread(target=_watch, args=(run,), daemon=True).start()


def _watch(run: int) -> None:
    while os.getppid() == run:
        time.sleep(_GONE)
    os.kill(os.getpid(), signal.SIGINT)
