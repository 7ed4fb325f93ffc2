"""The best results so far: when a run that keeps its best model should have kept one."""

import math
from collections.abc import Iterable

ROUNDS = 6  # evaluations: in fewer, the first may well have been the best
MISSED = 4  # improvements that were not kept: two may lie within a tolerance of the script's


def improved(values: Iterable[float]) -> list[bool]:
    """Of each result, better when higher, whether it was better than all before it. There is none before the first."""
    found, best = [], -math.inf
    for value in values:
        found.append(value > best > -math.inf)
        best = max(best, value)
    return found
