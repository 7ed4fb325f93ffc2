"""Where a run's time and memory go, seen from outside: the training thread is looked at, and does nothing for it.

Four times a second the writer of the journal asks which functions the main thread is in. That is a sample: of a
minute it knows the shares to a few percent, of an hour to less than one.
"""

import os
import sys
import threading
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FrameType

DEEP = 200  # frames that are looked at
_OURS = str(Path(__file__).parents[1]) + os.sep
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
# The innermost function that is known says what is being done.
_KNOWN = (
    ("/torch/utils/data/", "data"),
    ("/torch/optim/", "optimizer"),
    ("/torch/autograd/", "backward"),
    ("/torch/serialization.py", "saving"),
    ("/torch/distributed/checkpoint/", "saving"),
    ("/safetensors/", "saving"),
    ("/torch/nn/modules/module.py", "forward"),
    ("/torch/nn/functional.py", "forward"),
    ("/torch/_dynamo/", "compiling"),
    ("/torch/_inductor/", "compiling"),
)


class Pulse:
    """Counts what the main thread was seen doing."""

    def __init__(self) -> None:
        self.beats = 0
        self.seen: Counter[str] = Counter()
        self._main = threading.main_thread().ident or 0

    def beat(self) -> None:
        self.beats += 1
        frame = sys._current_frames().get(self._main)  # noqa: SLF001 - documented, for this purpose
        if frame is not None:
            self.seen[doing(frame)] += 1


def doing(frame: FrameType | None) -> str:
    """ "data", "forward", "backward", "optimizer", "saving", "compiling", "importing", "premortem" or "script"."""
    ours = True  # nothing of the user's was met yet
    for _ in range(DEEP):
        if frame is None:
            break
        known = _known(frame.f_code.co_filename)
        if known and frame.f_code.co_name == "<module>":
            return "importing"
        if known == "premortem":
            if ours:
                return known
        elif known and known != "torch":
            return known
        ours = ours and known == "torch"
        frame = frame.f_back
    return "script"


@cache
def _known(file: str) -> str:
    if file.startswith(_OURS):
        return "premortem"
    if file.startswith("<frozen importlib"):
        return "importing"
    if "/torch/" not in file and "/safetensors/" not in file:
        return ""
    return next((what for part, what in _KNOWN if part in file), "torch")


def resident() -> float | None:
    """Bytes of main memory that this process holds."""
    with suppress(OSError, ValueError, IndexError):
        return float(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    return None
