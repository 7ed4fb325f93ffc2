"""Weights of classes against how often these come."""

import math
from collections.abc import Sequence

_TIMES = 3.0  # between the largest and the smallest: below, weights or counts hardly differ
_ALONG = 0.8  # correlation of the logarithms: weights are meant to go against the counts


def grows(pairs: Sequence[tuple[int, float]]) -> bool:
    """Whether frequent classes have the large weights, as (how often, weight)."""
    pairs = [(number, weight) for number, weight in pairs if number > 0 and weight > 0]
    if len(pairs) < 2:
        return False
    counts, weights = [math.log(n) for n, _ in pairs], [math.log(w) for _, w in pairs]
    if min(max(counts) - min(counts), max(weights) - min(weights)) < math.log(_TIMES):
        return False
    x, y = sum(counts) / len(counts), sum(weights) / len(weights)
    both = sum((a - x) * (b - y) for a, b in zip(counts, weights, strict=True))
    return both > _ALONG * math.sqrt(sum((a - x) ** 2 for a in counts) * sum((b - y) ** 2 for b in weights))
