"""Whole numbers that went through a type which cannot hold them: beyond its end they go on at the other one.

An experiment: one file is taken round the end of the type. It must then be distributed as the other one is, and by no other reading of the two may it be
so: neither as it stands, nor without the rows that the type cannot hold, nor with these set to its end."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from premortem.preflight.data import compared, names
from premortem.preflight.data.data_facts import Wrapped
from premortem.preflight.data.relations import columns, units
from premortem.preflight.data.tables import Table

_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
_FEWEST = 100  # rows of each file: of fewer, two shapes are alike by chance
_EITHER_SIDE = 0.05  # of the rows, at least, that go round another number of times than most: else all moved alike, which a start from elsewhere does too
_STRETCHES = 16
_EVIDENCE = 20.0  # a reading that is right loses by so much to another once in 480 million
_MOST_ROWS = 20_000
_MOST_COLUMNS = 64


class Held(NamedTuple):
    """One column of one file."""

    shown: str
    path: str
    column: str
    values: Any  # float64, finite
    dtype: str  # "" where the file does not say


def wrapped(held: Mapping[str, Any], tables: Sequence[Table]) -> Iterator[Wrapped]:
    """`held`: the arrays of the dataset."""
    if not columns.counts():
        return
    found: dict[tuple[str, str], list[Held]] = {}
    for each in (*of_arrays(held), *of_tables(tables)):
        series = compared.numberless(names.without_split(each.path))
        found.setdefault((series, each.column), []).append(each)
    for same in found.values():
        for one in same:
            others = [other for other in same if other.path != one.path]
            made = next((m for other in others if (m := beside(one, other))), None)
            if made is not None:
                yield made


def of_arrays(held: Mapping[str, Any]) -> Iterator[Held]:
    for name, array in held.items():
        if array.dtype.kind in "iuf" and array.ndim in {1, 2} and len(array) >= _FEWEST:
            wide = array.reshape(len(array), -1)
            path, _, part = name.rstrip("]").partition("[")
            for at in range(wide.shape[1] if wide.shape[1] <= _MOST_COLUMNS else 0):
                column = (
                    f"{names.without_split(part)}[:, {at}]" if array.ndim == 2 else names.without_split(part)
                )
                place = name if part and names.split_of(part) else path
                yield from of(name, place, column, wide[:, at], str(array.dtype))


def of_tables(tables: Sequence[Table]) -> Iterator[Held]:
    for table in (t for t in tables if t.cells and "=" not in t.part):
        for column, values in columns.measured(table).items():
            yield from of(table.shown, table.path, column, values, "")


def of(shown: str, path: str, column: str, values: Any, dtype: str) -> Iterator[Held]:
    import numpy as np

    some = values[:: max(1, -(-len(values) // _MOST_ROWS))].astype("float64")
    some = some[np.isfinite(some)]
    if len(some) >= _FEWEST and len(np.unique(some)) > columns.VARIED:
        yield Held(shown, path, column, some, dtype)


def beside(one: Held, other: Held) -> Wrapped | None:
    """The type that has made the numbers of the one of such as the other has."""
    import numpy as np

    for name in _TYPES:
        ends = np.iinfo(name)
        if one.dtype in _TYPES and one.dtype != name:
            continue
        if one.values.min() < ends.min or one.values.max() > ends.max:
            continue
        outside = (np.trunc(other.values) < ends.min) | (np.trunc(other.values) > ends.max)
        if (one.values % 1 == 0).all() and has_gone_round(one.values, other.values, ends):
            return Wrapped(
                path=one.path,
                shown=one.shown,
                column=one.column,
                other_path=other.path,
                other=other.shown,
                dtype=name,
                stored=one.dtype == name,
                evenly=apart(one.values, evenly(one.values)) <= units.BEYOND,
                beyond=int(outside.sum()),
                of=len(other.values),
                highest=float(np.abs(other.values).max()),
            )
    return None


def has_gone_round(one: Any, other: Any, ends: Any) -> bool:
    import numpy as np

    whole, size = np.trunc(other), float(ends.max) - float(ends.min) + 1
    turns = np.floor((whole - ends.min) / size)
    if max(np.unique(turns, return_counts=True)[1]) > (1 - _EITHER_SIDE) * len(turns):
        return False
    made, inside = whole - turns * size, whole[turns == 0]
    if apart(one, made) > units.CHANCE or apart(whole, evenly(whole)) <= units.BEYOND:
        return False
    readings = [whole, whole.clip(ends.min, ends.max), inside]
    edges = np.linspace(ends.min, ends.max, _STRETCHES + 1)
    edges[0], edges[-1] = ends.min - 0.5, ends.max + 0.5
    return all(likelier(one, made, each, edges) > _EVIDENCE for each in readings)


def likelier(rows: Any, one: Any, other: Any, edges: Any) -> float:
    """How much likelier the rows are as draws of the one than of the other, as a logarithm. What is beyond the edges counts as a stretch."""
    import numpy as np

    counts = np.histogram(rows, edges)[0]
    first, second = (
        np.log((np.histogram(each, edges)[0] + 0.5) / (len(each) + 0.5 * len(edges))) for each in (one, other)
    )
    return float((counts * (first - second)).sum())


def evenly(values: Any) -> Any:
    import numpy as np

    return np.linspace(values.min(), values.max(), len(values))


def apart(one: Any, other: Any) -> float:
    """In the distance that chance makes of so many rows."""
    return units.distance(one, other) / math.sqrt(1 / len(one) + 1 / len(other))
