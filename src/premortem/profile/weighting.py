"""Weights of classes against how often these come, and weights of samples among themselves."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

_TIMES = 3.0  # between the largest and the smallest: below, weights or counts hardly differ
NEARLY_ALL = 0.95  # of the draws
_FEW = (
    0.01  # of the samples: where classes are balanced by weights, each of them keeps its share of the draws
)
SEVERAL = 100  # samples, below which a hundredth is none
_HARDLY_ANY = 0.05  # of the rows: who means to train on so few takes the others out
MOST_WEIGHTS = 1 << 22
_CLASSES = 3  # of two, the other order is the one that goes along with the counts
_LAWS = (1.0, 0.5)  # weights are the inverse of the counts, or of their roots
_EXACT = 0.1  # of a weight: rounded ones, and counts before a few rows were left out
_DEVIATIONS = 2.0  # of a count that is a draw
_ALONG = 0.8  # correlation of the logarithms: weights are meant to go against the counts


def entropy(counts: Mapping[Any, int]) -> float:
    """Of classes, by how often each of them comes; 0 where all are of one."""
    total = sum(counts.values())
    return -sum([n / total * math.log(n / total) for n in counts.values() if n]) if total else 0.0


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


def misplaced(pairs: Sequence[tuple[int, float]]) -> bool:
    """Whether the weights are those of these very counts, in another order: exactly so once both are sorted, and far off as they are."""
    pairs = [(number, weight) for number, weight in pairs if number > 0 and weight > 0]
    if len(pairs) < _CLASSES or max(w for _, w in pairs) < _TIMES * min(w for _, w in pairs):
        return False
    counts, weights = sorted(n for n, _ in pairs), sorted((w for _, w in pairs), reverse=True)
    ordered = list(zip(counts, weights, strict=True))
    return any(
        all(
            abs(off) < _EXACT + _DEVIATIONS / math.sqrt(n)
            for off, n in zip(_off(ordered, power), counts, strict=True)
        )
        and max(map(abs, _off(pairs, power))) > math.log(_TIMES)
        for power in _LAWS
    )


def _off(pairs: Sequence[tuple[int, float]], power: float) -> list[float]:
    """How far each weight is from a constant divided by this power of the count, as a logarithm."""
    products = [math.log(weight) + power * math.log(number) for number, weight in pairs]
    middle = sorted(products)[len(products) // 2]
    return [each - middle for each in products]


def carrying(weights: Any) -> tuple[int, int] | None:
    """Of an array: how many weights are above 0, and the fewest of them that make nearly all of the sum. None where they are no weights."""
    import numpy as np

    positive = np.sort(weights[weights > 0])[::-1]
    if not np.isfinite(weights).all() or (weights < 0).any() or not len(positive):
        return None
    return len(positive), int(np.searchsorted(np.cumsum(positive), NEARLY_ALL * positive.sum())) + 1


def few(drawable: int, carried: int) -> bool:
    """What has no weight at all was left out on purpose; what has one is meant to be drawn."""
    return drawable >= SEVERAL and carried <= _FEW * drawable


def hardly_any(counted: int, rows: int) -> bool:
    return rows >= SEVERAL and counted <= _HARDLY_ANY * rows


def are_left_out(drawable: int, carried: int, rows: int) -> bool:
    """Whether nearly all rows have no weight, and the others have different ones: equal ones would be a choice of rows."""
    return hardly_any(drawable, rows) and carried < math.ceil(NEARLY_ALL * drawable)
