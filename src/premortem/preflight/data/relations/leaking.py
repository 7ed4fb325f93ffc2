"""A column that tells the label in the training rows and not in those of another split: it was filled in after the label was known, and is not yet there."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from premortem.preflight.data import compared
from premortem.preflight.data.tables import Table

_RARE = 20  # rows of a class
_ALONE = 0.9  # of the way from guessing to certainty, by the order of one column, in the training rows,
_LEFT = 0.5  # ... of which so much is left in the other split, at most
_OUTSIDE = 0.1  # of the rows
_DRAWS = 99  # parts of the training rows of the same size, each of which must keep more
_STRETCHES = 24
_ALIVE = 4.0  # standard errors by which some other column says the same of the label in both splits


class Leak(NamedTuple):
    column: str
    first: float  # how often the order of the column is that of the labels, in the training rows
    second: float
    other: str  # a column that says the same in both


def leak(
    first: Table, second: Table, one: Mapping[str, Any], two: Mapping[str, Any], labels: Any, others: Any
) -> Leak | None:
    """`labels`: of both tables, as 0 and 1."""
    import numpy as np

    if min(np.bincount(labels, minlength=2).min(), np.bincount(others, minlength=2).min()) < _RARE:
        return None
    found = {
        name: (worth(one[name], labels), worth(two[name], others))
        for name in one
        if name in two and np.isfinite(one[name]).all() and np.isfinite(two[name]).all()
    }
    error = (
        1 / np.bincount(others).min() / 3
    ) ** 0.5 * 2  # of what the order of a column is worth, where it says nothing
    alive = [name for name, (a, b) in found.items() if min(abs(a), abs(b)) > _ALIVE * error / 2 and a * b > 0]
    alive = [name for name in alive if abs(found[name][1]) > _ALIVE * error and kept(*found[name])]
    for name, (a, b) in found.items():
        if (
            abs(a) < _ALONE
            or kept(a, b)
            or goes_on(one[name], two[name])
            or not (rest := [each for each in alive if each != name])
        ):
            continue
        least = min(
            (
                worth(one[name][rows], labels[rows]) * np.sign(a)
                for rows in parts(first, second, labels, len(others))
            ),
            default=0.0,
        )
        if least > (b * np.sign(a) + abs(a)) / 2:
            return Leak(name, (abs(a) + 1) / 2, (b * float(np.sign(a)) + 1) / 2, rest[0])
    return None


def goes_on(one: Any, two: Any) -> bool:
    """Whether a column grows along the rows, or has come to other values in the other split: then it tells early rows from late ones."""
    import numpy as np

    outside = float(((two < one.min()) | (two > one.max())).mean())
    rows = np.arange(len(one)) >= len(one) // 2
    return outside > _OUTSIDE or abs(worth(one, rows.astype("int64"))) > _LEFT


def kept(first: float, second: float) -> bool:
    return second * first > 0 and abs(second) > _LEFT * abs(first)


def worth(values: Any, labels: Any) -> float:
    """From -1 to 1: how much more often a row of the one class lies above one of the other than below it."""
    import numpy as np

    zero, one = np.sort(values[labels == 0]), values[labels == 1]
    below = np.searchsorted(zero, one, side="left") + np.searchsorted(zero, one, side="right")
    return float(below.mean() / len(zero) - 1)


def parts(first: Table, second: Table, labels: Any, size: int) -> Iterator[Any]:
    """Rows of the training as many as the other split has: drawn at random, one after the other, and chosen as the split was; with both
    classes."""
    import numpy as np

    rng, size = np.random.default_rng(0), min(size, len(labels) // 2)
    starts = np.linspace(0, len(labels) - size, _STRETCHES).astype(int)
    drawn = [rng.permutation(len(labels))[:size] for _ in range(_DRAWS)]
    stretches = [np.arange(start, start + size) for start in starts]
    for rows in (*drawn, *stretches, *compared.likewise(first, second)):
        if np.bincount(labels[rows], minlength=2).min() >= _RARE / 2:
            yield rows
