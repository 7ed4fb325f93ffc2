"""Numbers without a header, as `np.memmap` and `np.fromfile` read them: of the type that the script's code names."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from premortem.lint.tree import argument
from premortem.preflight.data.code.syntax import calls
from premortem.preflight.data.data_facts import Look
from premortem.preflight.data.readers import numbers
from premortem.preflight.data.readers.around import Around, MissingLibrary

SUFFIXES = ("bin",)
_TYPES = frozenset("uint8 uint16 uint32 int8 int16 int32 int64 float16 float32 float64".split())
_SHORT = {
    f"{k}{w}": f"{n}{8 * w}" for k, n in {"u": "uint", "i": "int", "f": "float"}.items() for w in (1, 2, 4, 8)
}
_BLOCK = 1024  # bytes: no row of measurements is zero for that long
_BLOCKS = 2048  # that are looked at, spread evenly
_FEWEST_BLOCKS = 32
_FEWEST_EMPTY = 4
_ROW = 64  # tokens that are taken for one row of a text without ends


def read(path: Path, relative: str, around: Around) -> Iterator[Look]:
    hole = longest_hole(path)
    if hole is not None:
        yield Look(path=relative, kind="raw", hole=hole)
    if not around.raw:
        return
    try:
        import numpy as np
    except ImportError:
        raise MissingLibrary("numpy") from None
    kind = np.dtype(around.raw)
    count = path.stat().st_size // kind.itemsize
    if count < 2 * _ROW:
        return
    whole = np.memmap(path, dtype=kind, mode="r")[: count - count % _ROW]
    yield numbers.about(whole.reshape(-1, _ROW if kind.kind in "iu" else 1), relative, "raw")


def longest_hole(path: Path) -> tuple[int, int, int] | None:
    """The longest stretch of zero bytes: from, to, and the size; None where zeros come elsewhere too, or hardly at all."""
    size = path.stat().st_size
    blocks = min(_BLOCKS, size // _BLOCK)
    if blocks < _FEWEST_BLOCKS:
        return None
    starts = [at * (size - _BLOCK) // (blocks - 1) for at in range(blocks)]
    empty = []
    with path.open("rb") as file:
        for start in starts:
            file.seek(start)
            empty.append(not any(file.read(_BLOCK)))
    best = (0, 0)
    begin: int | None = None
    for at, zero in enumerate([*empty, False]):
        if zero:
            begin = at if begin is None else begin
        elif begin is not None:
            best = max(best, (begin, at), key=lambda pair: pair[1] - pair[0])
            begin = None
    length = best[1] - best[0]
    if length < _FEWEST_EMPTY or length < 0.9 * sum(empty) or length == blocks:
        return None
    return starts[best[0]], starts[best[1] - 1] + _BLOCK, size


def stored_type(trees: Iterable[ast.AST]) -> str:
    """The one type with which the code reads such files; nothing where it names several, or none."""
    read = (argument(call, "dtype", 1) for tree in trees for call in calls(tree, "memmap", "fromfile"))
    found = {name for value in read if value is not None and (name := _type(value)) in _TYPES}
    return found.pop() if len(found) == 1 else ""


def _type(value: ast.expr) -> str:
    """`np.uint16`, `"uint16"`, and `"<u2"`, which is how it is stored nearly everywhere."""
    if isinstance(value, ast.Constant):
        made = str(value.value)
        return _SHORT.get(made.lstrip("<="), made)
    return value.attr if isinstance(value, ast.Attribute) else ""
