"""Two series whose rows stand in turns: each row follows the one before the last, and not the last one.

Readings of one thing by day and by night stand in turns too. They have their moves in common, so each half of the rows is brought to one mean and spread first, and
both are compared at all distances: two things agree at the same time no better than at any other."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from premortem.preflight.data.relations.columns import is_in_order

_FEWEST = 200  # rows
_FOLLOWS = 0.9  # correlation with the row before the last, in both halves of the file,
_LITTLE = 0.5  # ... and with the last one, at most
_TYPICAL = 0.9  # of all distances, at most so many with less of a correlation than the same time
_MOSTLY = 0.5  # of the columns that follow anything do so
_MOST = 20_000


class Interleaved(NamedTuple):
    column: str
    before_last: float
    last: float
    columns: int


def interleaved(columns: Mapping[str, Any], cells: Mapping[str, Any]) -> Interleaved | None:
    found, follows = [], 0
    if any(takes_turns(column) for column in cells.values()):
        return None
    for name, values in columns.items():
        made = None if is_in_order(values) else in_turns(values[:_MOST])
        if made is None:
            continue
        follows += 1
        if made[1] <= _LITTLE:
            found.append(Interleaved(name, made[0], made[1], 0))
    return found[0]._replace(columns=len(found)) if found and len(found) > _MOSTLY * follows else None


def takes_turns(cells: Any) -> bool:
    """A column that says of which series a row is."""
    even, odd = set(cells[::2]), set(cells[1::2])
    return even.isdisjoint(odd) and min(len(even), len(odd)) <= 2


def in_turns(values: Any) -> tuple[float, float] | None:
    """The correlation with the row before the last and with the last one, of rows that follow either; the second is 1 where the rows before say as much."""
    import numpy as np

    if len(values) < _FEWEST or not np.isfinite(values).all():
        return None
    half = len(values) // 4 * 2
    whole = []
    for part in (values[:half], values[half : 2 * half]):
        even, odd = (standard(part[at::2]) for at in (0, 1))
        if even is None or odd is None:
            return None
        again = min(float((each[1:] * each[:-1]).mean()) for each in (even, odd))
        together = abs(float((even * odd).mean()))
        rolled = [abs(float((even * np.roll(odd, by)).mean())) for by in range(1, len(odd))]
        whole.append((again, together, float((np.array(rolled) < together).mean())))
    again = min(each[0] for each in whole)
    if again < _FOLLOWS:
        return (again, 1.0) if again > _LITTLE else None
    last = max(each[1] for each in whole)
    return again, last if max(each[2] for each in whole) <= _TYPICAL else 1.0


def standard(values: Any) -> Any:
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 0 else None
