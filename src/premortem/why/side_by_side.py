"""How many trials run at the same time: as many as the machine has cores for, and memory. Pure, but for the cores."""

import os

from premortem.why.order import Result

MOST = 8  # a round of more has hardly ever so many changes to try, and cannot end at the first cause
_CONTEXT = 1 << 30  # bytes of a GPU that a process needs besides what torch has reserved
_SPARE = 0.8  # of what is free: a change may need more than the script as it is


def lanes() -> int:
    """Each trial computes in one thread."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(MOST, cores))


def fitting(lanes: int, first: Result, free: int) -> int:
    """Those of them that have room, by what the script as it is has used, which has given it back, on the GPU not yet."""
    room = [lanes]
    if first.memory:
        room.append(int(_SPARE * free / first.memory))
    if first.gpu:
        used, left = first.gpu
        room.append(int(_SPARE * (left + used + _CONTEXT) / (used + _CONTEXT)))
    return max(1, min(room))
