"""Where a watched run's memory goes: which call of C's made the process grow, and who called it.

    premortem run bench/cost_memory.py plain --steps 40 --device cuda
    python bench/cost_memory.py plain --steps 40 --device cuda        beside it

Resident memory is read after every call of a function of C's in the training thread (`sys.setprofile`). On a GPU the
first use of a kernel loads the module that it is part of; that is host memory too.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from collections import Counter
from typing import Any

import cost_loops
import torch

_PAGE = resource.getpagesize()
_FELT = 1 << 20  # bytes; smaller growth is added up as the rest


_STATM = os.open("/proc/self/statm", os.O_RDONLY)


def resident() -> int:
    return int(os.pread(_STATM, 64, 0).split()[1]) * _PAGE


class Growth:
    """Bytes by the function that was called, the line that called it, and the innermost line of premortem's, if any."""

    def __init__(self) -> None:
        self.by: Counter[str] = Counter()
        self._last = resident()

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if event != "c_return":
            return
        now = resident()
        if now - self._last >= _FELT:
            name = getattr(argument, "__qualname__", str(argument))
            self.by[f"{name} in {place(frame)}, for {place(ours(frame))}"] += now - self._last
        self._last = now


def ours(frame: Any) -> Any:
    while frame is not None and "premortem" not in frame.f_code.co_filename.rpartition("/src/")[2]:
        frame = frame.f_back
    return frame


def place(frame: Any) -> str:
    if frame is None:
        return "the script"
    return "/".join(frame.f_code.co_filename.split("/")[-2:]) + f":{frame.f_lineno}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("loop", choices=cost_loops.LOOPS)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    cost_loops.DEVICE = options.device
    torch.manual_seed(0)
    if options.device == "cuda":
        torch.zeros((), device="cuda")  # the context itself
    before, growth = resident(), Growth()
    sys.setprofile(growth)
    cost_loops.LOOPS[options.loop](options.steps)
    sys.setprofile(None)
    print(f"{(resident() - before) / 2**20:.0f} MiB more after {options.steps} steps, of which")
    for where, size in growth.by.most_common(40):
        print(f"{size / 2**20:8.1f} MiB  {where}")


if __name__ == "__main__":
    main()
