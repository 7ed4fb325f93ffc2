"""What is worth knowing of an array: its range, what is not finite, its rows."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from premortem.preflight.data import names, tables
from premortem.preflight.data.data_facts import Look

_ALL = 4_000_000  # values up to which every one is looked at
_BLOCK = 62_500
_MOST_ROWS = 20_000
_MOST_BYTES = 256 << 20
_LABEL_WORDS = {"y", "label", "labels", "target", "targets", "class", "classes"}


def about(array: Any, relative: str, kind: str, part: str = "") -> Look:
    """A look at an array of numpy, or at anything that can be sliced like one."""
    import numpy as np

    split = names.split_of(part) or names.split_of(relative.rpartition("/")[2])
    look: dict[str, Any] = {"path": relative, "kind": kind, "part": part}
    look |= {"shape": tuple(array.shape), "mode": str(array.dtype)}
    if array.dtype.kind not in "biufc" or not array.size:
        return Look(**look)
    look["tables"] = tuple(_tables(array, relative, part))
    values = _some(array)
    look["values"] = int(values.size)
    if values.dtype.kind in "fc":
        look["nan"] = int(np.isnan(values).sum())
        look["inf"] = int(np.isinf(values).sum())
        values = values[np.isfinite(values)]
    if values.size and values.dtype.kind != "c":
        look |= {"low": float(values.min()), "high": float(values.max())}
        look["flat"] = look["low"] == look["high"]
    if array.nbytes <= _MOST_BYTES and (split or array.size <= _ALL):
        whole = np.ascontiguousarray(array[...])
        look["digest"] = hashlib.blake2b(whole.tobytes(), digest_size=16).hexdigest()
        if split and whole.ndim >= 2 and whole.shape[0] >= 2 and whole[0].size >= 4:
            look["rows"] = tuple(
                hashlib.blake2b(row.tobytes(), digest_size=12).hexdigest() for row in whole[:_MOST_ROWS]
            )
    if _is_label(part, relative) and array.dtype.kind in "iu" and array.ndim == 1:
        found, counts = np.unique(array[:_ALL], return_counts=True)
        if len(found) <= 1000:
            look["labels"] = tuple((str(v), int(n)) for v, n in zip(found, counts, strict=True))
    return Look(**look)


def _tables(array: Any, relative: str, part: str) -> Iterator[tables.Table]:
    """As many rows, spread evenly, as say enough of the columns."""
    import numpy as np

    if not array.ndim or array.dtype.kind == "c" or len(array) < 2:
        return
    width = max(1, array.size // len(array))
    every = max(1, -(-len(array) // max(64, _ALL // width)))
    if width <= 16 * _ALL // 64:
        table = tables.of_array(np.asarray(array[::every]), relative, part)
        if table is not None:
            yield replace(table, rows=len(array))


def _is_label(part: str, relative: str) -> bool:
    name = part or names.stem(relative.rpartition("/")[2])
    return bool(set(name.lower().replace("-", "_").split("_")) & _LABEL_WORDS)


def _some(array: Any) -> Any:
    """All values, or blocks spread evenly over the first axis: a memory map is not read from end to end."""
    import numpy as np

    if array.size <= _ALL or array.shape[0] < 64:
        return np.asarray(array[...] if array.size <= 16 * _ALL else array[:1]).ravel()
    rows = max(1, _BLOCK // max(1, array.size // array.shape[0]))
    starts = np.linspace(0, array.shape[0] - rows, 64).astype(int)
    return np.concatenate([np.asarray(array[start : start + rows]).ravel() for start in starts])
