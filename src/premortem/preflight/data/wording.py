"""Sentences about files."""

from collections.abc import Sequence

from premortem import amounts
from premortem.preflight.data.names import shown


def some(paths: Sequence[str], most: int = 3) -> str:
    """`a`, `b`, `c` and 17 more."""
    return amounts.some(map(shown, paths), most)


def size(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "a single number"
