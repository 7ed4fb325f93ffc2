"""What is worth knowing of an array: its range, what is not finite, its rows."""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from premortem.preflight.data import names, tables
from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.guard import Guard
from premortem.preflight.data.relations import limits, padding

_ALL = 4_000_000  # values up to which every one is looked at
_BLOCK = 62_500
_MOST_ROWS = 20_000
_MOST_BYTES = 256 << 20
_SIGNALS = 64  # rows that are looked at as signals
_MEASURED = 1_000_000  # values that are copied to be measured, which makes floats of them, several times over
_FEWEST_ROWS = 16  # of long rows; then less of each row is looked at
_LABEL_WORDS = {"y", "label", "labels", "target", "targets", "class", "classes"}


def about(array: Any, relative: str, kind: str, part: str = "") -> Look:
    """A look at an array of numpy, or at anything that can be sliced like one."""
    import numpy as np

    split = names.split_of(part) or names.split_of(relative.rpartition("/")[2])
    look: dict[str, Any] = {"path": relative, "kind": kind, "part": part}
    look |= {"shape": tuple(array.shape), "mode": str(array.dtype)}
    if array.dtype.kind not in "biufc" or not array.size:
        return Look(**look)
    guard = Guard()
    some = _spread(array)
    look["tables"] = guard.each(lambda: _tables(some, len(array), relative, part)) if some is not None else ()
    values = _some(array)
    look["values"] = int(values.size)
    if values.dtype.kind in "fc":
        look["nan"] = int(np.isnan(values).sum())
        look["inf"] = int(np.isinf(values).sum())
        values = values[np.isfinite(values)]
    if values.size and values.dtype.kind != "c":
        look |= {"low": float(values.min()), "high": float(values.max())}
        look["flat"] = look["low"] == look["high"]
    if array.dtype.kind in "iuf" and array.ndim >= 2:
        look |= _signals(array, bool(split), guard)
    if array.dtype.kind == "i" and array.ndim >= 2:
        look["ends"] = guard(lambda: limits.at_the_ends(values[:: -(-values.size // _MEASURED)]), 0.0)
    look["faults"] = tuple(guard.faults)
    if array.nbytes <= _MOST_BYTES and (split or array.size <= _ALL):
        whole = np.ascontiguousarray(array[...])
        content: Any = whole.reshape(-1).view("uint8")  # as it lies there: no copy
        look["digest"] = hashlib.blake2b(content, digest_size=16).hexdigest()
        if split and whole.ndim >= 2 and whole.shape[0] >= 2 and whole[0].size >= 4:
            look["rows"] = tuple(
                hashlib.blake2b(row.tobytes(), digest_size=12).hexdigest() for row in whole[:_MOST_ROWS]
            )
    if _is_label(part, relative) and array.dtype.kind in "iu" and array.ndim == 1:
        found, counts = np.unique(array[:_ALL], return_counts=True)
        if len(found) <= 1000:
            look["labels"] = tuple((str(v), int(n)) for v, n in zip(found, counts, strict=True))
    return Look(**look)


def _signals(array: Any, split: bool, guard: Guard) -> dict[str, Any]:
    """What its first rows say when they are taken for signals, or for rows of tokens. Reading them may fail, and says so; measuring them
    may not."""
    whole, kind = array.dtype.kind in "iu", array.dtype.kind
    look: dict[str, Any] = {}
    some = _head(array, 4 * _SIGNALS) if whole or split else None
    if some is not None and kind in "fi" and split:
        rows = some.reshape(-1, some.shape[-1]) if some.ndim == 3 else some
        look["rough"] = guard(lambda: limits.roughly(rows), None)
    if whole and array.ndim == 2 and split:
        tokens = _head(array, 16 * _SIGNALS)
        look["filled"] = guard(lambda: padding.side(tokens), None)
    if some is not None and whole:
        flat = some.reshape(len(some), -1)
        look["swapped"] = guard(lambda: limits.is_swapped(flat), False)
        if kind == "i":
            look["goes_round"] = guard(lambda: limits.goes_round(flat[:_SIGNALS].T), False)
    return look


def _head(array: Any, rows: int, most: int = _MEASURED) -> Any:
    """The first rows, as many as may be copied; of rows that are long the first numbers of each axis."""
    import numpy as np

    wanted = [min(rows, len(array)), *array.shape[1:]]
    for axis in range(len(wanted)):
        size = math.prod(wanted)
        if size > most:
            least = _FEWEST_ROWS if axis == 0 else 1
            wanted[axis] = max(min(least, wanted[axis]), wanted[axis] * most // size)
    return np.asarray(array[tuple(map(slice, wanted))])


def _spread(array: Any) -> Any:
    """As many rows, spread evenly, as say enough of the columns."""
    import numpy as np

    if not array.ndim or array.dtype.kind == "c" or len(array) < 2:
        return None
    width = max(1, array.size // len(array))
    every = max(1, -(-len(array) // max(64, _ALL // width)))
    return np.asarray(array[::every]) if width <= 16 * _ALL // 64 else None


def _tables(some: Any, rows: int, relative: str, part: str) -> Iterator[tables.Table]:
    table = tables.of_array(some, relative, part)
    if table is not None:
        yield replace(table, rows=rows)


def _is_label(part: str, relative: str) -> bool:
    name = part or names.stem(relative.rpartition("/")[2])
    return bool(set(name.lower().replace("-", "_").split("_")) & _LABEL_WORDS)


def _some(array: Any) -> Any:
    """All values, or blocks spread evenly over the first axis: a memory map is not read from end to end."""
    import numpy as np

    if array.size <= _ALL or array.shape[0] < 64:
        return np.asarray(array[...] if array.size <= 16 * _ALL else _head(array, 1, 16 * _ALL)).ravel()
    width = max(1, array.size // array.shape[0])
    rows = max(1, _BLOCK // width)
    blocks = min(64, max(1, 16 * _ALL // (rows * width)))
    starts = np.linspace(0, array.shape[0] - rows, blocks).astype(int)
    return np.concatenate([np.asarray(array[start : start + rows]).ravel() for start in starts])
