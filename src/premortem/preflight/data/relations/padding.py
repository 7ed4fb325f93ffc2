"""Rows of tokens that are filled up to one length: at their beginning or at their end."""

from typing import Any

_SHORT = 0.2  # of the rows are filled up
_CLEAR = 0.95  # of them on one side


def side(array: Any) -> tuple[str, int] | None:
    """ "begin" or "end", and the token that fills up; None where rows are not filled up, or on both sides."""
    import numpy as np

    if array.ndim != 2 or array.dtype.kind not in "iu" or array.shape[1] < 6 or len(array) < 50:
        return None
    first, last = array[:, 0], array[:, -1]
    for token in {most_frequent(first, np), most_frequent(last, np)}:
        at_begin, at_end = (
            (first == token) & (array[:, 1] == token),
            (last == token) & (array[:, -2] == token),
        )
        one, two = int((at_begin & ~at_end).sum()), int((at_end & ~at_begin).sum())
        within = (array[:, 2:-2] == token) & (array[:, 1:-3] != token) & (array[:, 3:-1] != token)
        if one + two < _SHORT * len(array) or max(one, two) < _CLEAR * (one + two) or within.mean() > 0.01:
            continue
        return ("begin" if one > two else "end"), token
    return None


def most_frequent(values: Any, np: Any) -> int:
    """Not by `bincount`, which has a place for every number up to the highest: ids go up to 2 ** 63."""
    found, counts = np.unique(values, return_counts=True)
    return int(found[counts.argmax()])
