"""Sentences about files."""

from collections.abc import Sequence


def size(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "a single number"
