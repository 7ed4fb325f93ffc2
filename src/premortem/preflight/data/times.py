"""Columns of times: dates as text, and numbers that count seconds, milliseconds or days since 1970."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import correlation, median
from typing import NamedTuple

_TIME = re.compile(
    r"(\d{4}-[01]\d-[0-3]\d)(?:[T ]([0-2]\d:[0-5]\d(?::[0-5]\d)?)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?)?$"
)
_MOST = 0.9  # of the cells
_RISING = 0.98  # of the rows
_SAME_STEP = 0.05  # of the step between two rows: clocks are read a little early or late
_KEPT = 50_000  # times, one after the other: as many as a table has rows that are read
_COMPARED = 20_000  # rows
_WORDS = frozenset(
    "time times timestamp ts date datetime day days hour epoch unix utc t when created updated at seconds secs ms".split()
)
# From 1990 to 2040, in seconds. A smaller number may count anything.
_EARLIEST, _LATEST = 631_152_000.0, 2_208_988_800.0
UNITS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9, "days": 1 / 86400}


class Times(NamedTuple):
    """A column of times."""

    first: float  # in seconds since 1970, as written, whatever the zone
    last: float
    rising: bool  # row by row
    zones: frozenset[str]  # "+02:00", "Z", "" for none
    example: str
    unit: str = ""  # of numbers
    step: float = 0.0  # seconds between two rows, where most rows are so far apart; 0 where not
    head: tuple[float, ...] = ()  # the first of them
    follows: tuple[tuple[str, float], ...] = ()  # columns that are much like in the row before, and how much


def times_in(cells: Mapping[str, Sequence[str]], numbers: Mapping[str, Sequence[float]]) -> dict[str, Times]:
    """The columns of a table in which nearly every cell is a time."""
    found: dict[str, Times] = {}
    for name, column in cells.items():
        made = of_numbers(name, numbers[name]) if name in numbers else of_texts(column)
        if made is not None:
            found[name] = made._replace(follows=following(numbers)) if made.step else made
    return found


def of_texts(cells: Sequence[str]) -> Times | None:
    """Dates, with a time of the day or without (ISO 8601)."""
    found = [match for cell in cells if (match := _TIME.match(cell))]
    if len(found) < 2 or len(found) < _MOST * len(cells):
        return None
    try:
        made = [datetime.fromisoformat(f"{m[1]}T{m[2] or '00:00'}+00:00").timestamp() for m in found]
    except ValueError:  # the 31st of February
        return None
    return timed(made, frozenset(m[3] or "" for m in found), found[0][0], "")


def of_numbers(name: str, values: Sequence[float]) -> Times | None:
    """Numbers that lie between 1990 and 2040 in one of the units, under a name that says that they are times."""
    words = set(re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))
    if not words & _WORDS or len(values) < 20:
        return None
    for unit, size in UNITS.items():
        inside = [v for v in values if _EARLIEST <= v / size <= _LATEST]
        if len(inside) >= _MOST * len(values):
            if unit == "days" and not words & {"day", "days", "date"}:
                continue
            return timed([v / size for v in inside], frozenset(), f"{inside[0]:.0f}", unit)
    return None


def timed(made: list[float], zones: frozenset[str], example: str, unit: str) -> Times:
    steps = [b - a for a, b in pairwise(made)]
    rising = sum(step >= 0 for step in steps) >= _RISING * len(steps)
    usual = median(steps)
    regular = usual > 0 and sum(alike(step, usual) for step in steps) >= 0.5 * len(steps)
    return Times(
        min(made), max(made), rising, zones, example, unit, usual if regular else 0.0, tuple(made[:_KEPT])
    )


def alike(step: float, usual: float) -> bool:
    return abs(step - usual) <= _SAME_STEP * usual


def following(numbers: Mapping[str, Sequence[float]]) -> tuple[tuple[str, float], ...]:
    """Columns in which a row says much about the next one."""
    found = []
    for name, values in numbers.items():
        head = values[:_COMPARED]
        try:
            alike_to_next = correlation(head[:-1], head[1:])
        except (ValueError, ArithmeticError):  # one number everywhere, or too few
            continue
        if 0.7 < alike_to_next < 0.9999:  # more is a counter, or the time itself
            found.append((name, round(alike_to_next, 2)))
    return tuple(found)


def length(seconds: float) -> str:
    for name, size in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= size:
            number = seconds / size
            return f"{number:.3g} {name}{'' if round(number, 2) == 1 else 's'}"
    return f"{seconds:.3g} seconds"
