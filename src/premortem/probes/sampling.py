"""Few values that stand for many: how far apart they lie."""

import functools
import math


@functools.lru_cache(maxsize=4096)
def stride_over(size: int, most: int) -> int:
    """The distance between about `most` of so many values.

    It has no divisor in common with their number, so none with a dimension either: every sample, every feature and
    every corner has its turn. A stride that divides a row would meet the same feature of each sample, which may be a
    black border, or the token that every sentence begins with."""
    stride = max(1, size // most)
    while math.gcd(stride, size) > 1:
        stride += 1
    return stride
