"""A column that tells the label by itself: two heaps that are the classes, beside columns that together tell far less."""

from collections.abc import Mapping
from typing import Any, NamedTuple

_FEWEST = 200  # rows
_RARE = 20  # rows of a class
_BINS = 16
_ALONE = 0.9  # of the way from guessing to certainty, by one column,
_OTHERS = 0.6  # ... by all others together: then the one is of another kind
_GAP = 0.25  # spreads between the heaps: a limit that a rule was drawn at lies where the values are dense
_MOST_ROWS = 20_000


class Teller(NamedTuple):
    column: str
    alone: float  # share of both classes that it gets right
    others: float  # ... that all others get right together
    cut: float
    class_above: int


def teller(measured: Mapping[str, Any], labels: Any) -> Teller | None:
    """Of two classes, as 0 and 1. Which half of the rows is learnt from and which is asked is changed about."""
    import numpy as np

    counts = np.bincount(labels, minlength=2)
    if (
        not _FEWEST <= len(labels) <= _MOST_ROWS
        or len(counts) != 2
        or counts.min() < _RARE
        or len(measured) < 3
    ):
        return None
    found = {name: heaps(values, labels, np) for name, values in measured.items()}
    best = max(found, key=lambda name: found[name][0])
    alone, cut, above = found[best]
    if worth(alone) < _ALONE:
        return None
    if any(worth(score) > _OTHERS for name, (score, *_) in found.items() if name != best):
        return None
    others = together([values for name, values in measured.items() if name != best], labels, np)
    return Teller(best, alone, others, cut, above) if worth(others) <= _OTHERS else None


def worth(right: float) -> float:
    return 2 * right - 1


def heaps(values: Any, labels: Any, np: Any) -> tuple[float, float, int]:
    """The best limit between the classes: the share of both that it gets right, the limit, the class above. 0 where the classes touch."""
    finite = np.isfinite(values)
    if finite.mean() < 0.9:
        return 0.0, 0.0, 0
    made, wanted = values[finite], labels[finite]
    zero, one = made[wanted == 0], made[wanted == 1]
    if min(len(zero), len(one)) < _RARE:
        return 0.0, 0.0, 0
    above = int(np.median(one) > np.median(zero))
    low, high = (zero, one) if above else (one, zero)
    end, begin = np.quantile(low, 0.95), np.quantile(high, 0.05)
    first, last = np.quantile(made, [0.01, 0.99])
    spread = float(np.clip(made, first, last).std())
    cut = float(end + begin) / 2
    right = (float((low <= cut).mean()) + float((high > cut).mean())) / 2
    return (
        (right, cut, above) if spread > 0 and begin - end >= _GAP * spread else (min(right, 0.75), cut, above)
    )


def together(columns: list[Any], labels: Any, np: Any) -> float:
    """How many of both classes a rule gets right that adds up what each column says, in steps."""
    parts = []
    for values in columns:
        finite = np.isfinite(values)
        edges = (
            np.unique(np.quantile(values[finite], np.linspace(0, 1, _BINS + 1)[1:-1])) if finite.any() else []
        )
        places = np.where(finite, np.searchsorted(edges, np.where(finite, values, 0.0)), len(edges) + 1)
        parts.append(np.eye(len(edges) + 2)[places])
    x = np.concatenate([*parts, np.ones((len(labels), 1))], axis=1)
    weight = 1.0 / np.bincount(labels)[labels]
    odd = np.arange(len(labels)) % 2 == 1
    right = []
    for known in (odd, ~odd):
        w = weight[known][:, None]
        made = x[known]
        rule = np.linalg.solve(
            made.T @ (w * made) + 0.01 * np.eye(made.shape[1]), made.T @ (w[:, 0] * (2.0 * labels[known] - 1))
        )
        said = (x[~known] @ rule > 0).astype(int)
        right += [float((said[labels[~known] == k] == k).mean()) for k in (0, 1)]
    return float(np.mean(right))
