"""The order of rows: values that stand still although they otherwise change in each row, and passages that come again."""

from typing import Any, NamedTuple

_STILL = 24  # rows in a row with one value,
_MOVES = 0.1  # ... of a column in which at most so many rows repeat the one before
_PASSAGE = 16  # values in a row that come again,
_LIVELY = 10  # ... at least so many of them different
_COPIES = 3  # times that a passage comes, at most: what comes more often is a rhythm
_PART = 0.05  # of the rows
_MOST = 200_000
_NUMBERED = 0.95  # of the numbers up to the highest
_EQUALLY = 0.9  # of the numbers come as often as the middle one: cases and their two controls
_EVENLY = 4.0  # times as often as the middle one


class Still(NamedTuple):
    begin: int
    length: int
    value: float
    rows: int  # in all such stretches


class Again(NamedTuple):
    first: int
    second: int
    rows: int
    whole: bool  # of one long passage, and not of scattered rows


def still(values: Any) -> Still | None:
    """The longest stretch of one value that is neither the lowest nor the highest, in a column that otherwise moves."""
    import numpy as np

    made = values[:_MOST]
    if len(made) < 4 * _STILL or not np.isfinite(made).all():
        return None
    changes = np.flatnonzero(np.diff(made) != 0) + 1
    starts = np.concatenate([[0], changes])
    lengths = np.diff(np.concatenate([starts, [len(made)]]))
    inner = (made[starts] > made.min()) & (made[starts] < made.max())
    long = (lengths >= _STILL) & inner
    if not long.any():
        return None
    held = int(lengths[long].sum())
    rest = len(made) - held
    repeated = int((lengths[~long] - 1).sum())
    if rest < 2 * _STILL or repeated > _MOVES * rest or held < max(_STILL, 0.02 * len(made)):
        return None
    at = int(np.argmax(np.where(long, lengths, 0)))
    return Still(int(starts[at]), int(lengths[at]), float(made[starts[at]]), held)


def marks(values: Any) -> Any:
    """A number for each passage of the column, and 0 for what is too dull to tell it from others."""
    import numpy as np

    made = np.ascontiguousarray(values[:_MOST], dtype="float64")
    if len(made) < 2 * _PASSAGE:
        return np.zeros(0, dtype="uint64")
    codes = np.unique(made, return_inverse=True)[1].astype("uint64") + np.uint64(1)
    # The last bits of a small whole number are all zero, and a product keeps them so: the first ones are brought down, or passages meet by chance.
    bits = made.view("uint64") * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    windows = np.lib.stride_tricks.sliding_window_view(bits, _PASSAGE)
    power = np.array([pow(0x100000001B3, at, 1 << 64) for at in range(_PASSAGE)], dtype="uint64")
    with np.errstate(over="ignore"):
        found = (windows * power).sum(1, dtype="uint64")
    ordered = np.sort(np.lib.stride_tricks.sliding_window_view(codes, _PASSAGE), axis=1)
    lively = (np.diff(ordered, axis=1) != 0).sum(1) + 1 >= _LIVELY
    # What counts its rows begins anew where another thing begins: one step in one direction, or none.
    steps = np.diff(np.lib.stride_tricks.sliding_window_view(made, _PASSAGE), axis=1)
    widest = np.take_along_axis(steps, np.abs(steps).argmax(1)[:, None], 1)
    lively &= ((steps != 0) & (steps != widest)).any(1)
    return np.where(lively & (found != 0), found, np.uint64(0))


def again(values: Any) -> Again | None:
    """A passage of the column that comes a second time in it."""
    import numpy as np

    found = marks(values)
    used = np.flatnonzero(found)
    if len(used) < 4 * _PASSAGE:
        return None
    order = used[np.argsort(found[used], kind="stable")]
    same = found[order]
    first = np.concatenate([[True], same[1:] != same[:-1]])
    group = np.cumsum(first) - 1
    sizes = np.bincount(group)
    often = sizes[group]
    copied = (often >= 2) & (often <= _COPIES) & ~first
    if copied.sum() + _PASSAGE < max(2 * _PASSAGE, _PART * len(values)):
        return None
    if (often > _COPIES).sum() > 0.2 * len(used):
        return None  # a rhythm
    begin = order[np.flatnonzero(first)[group]]
    gaps = (order - begin)[copied]
    usual, times = np.unique(gaps, return_counts=True)
    gap = int(usual[np.argmax(times)])
    if gap < _PASSAGE:
        return None
    where = order[copied][gaps == gap]
    if len(where) < 0.5 * copied.sum() or len(where) + _PASSAGE < _PART * len(values):
        return None
    return Again(int(where.min()) - gap, int(where.min()), len(where) + _PASSAGE - 1, True)


def names_groups(values: Any) -> bool:
    """Numbers of groups: from 0 or 1 on nearly all of them, each about as often, or some of them and each just as often. The groups stand in
    one order where they come again."""
    import numpy as np

    found, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    whole = len(found) > 1 and found[0] >= 0 and bool((found == np.round(found)).all())
    usual = np.median(counts)
    if whole and usual >= 2 and (counts == usual).mean() >= _EQUALLY:
        return True
    return bool(
        whole
        and found[0] <= 1
        and len(found) >= _NUMBERED * (found[-1] - found[0] + 1)
        and counts.max() <= _EVENLY * usual
    )


def shared(first: Any, second: Any) -> Again | None:
    """A passage of one column that stands in another one, too."""
    import numpy as np

    here, there = marks(first), marks(second)
    common = np.intersect1d(here[here != 0], there[there != 0])
    if len(common) + _PASSAGE < max(2 * _PASSAGE, _PART * min(len(first), len(second))):
        return None
    one, two = np.flatnonzero(np.isin(here, common)), np.flatnonzero(np.isin(there, common))
    if min(len(one), len(two)) > _COPIES * len(common):
        return None
    return Again(int(one[0]), int(two[0]), len(common) + _PASSAGE - 1, True)
