"""Sentences about files."""

from __future__ import annotations

from collections.abc import Sequence

from premortem.amounts import scaled
from premortem.preflight.data.names import shown


def some(paths: Sequence[str], most: int = 3) -> str:
    """`a`, `b`, `c` and 17 more."""
    listed = ", ".join(f"`{shown(path)}`" for path in paths[:most])
    return listed + (f" and {len(paths) - most:,} more" if len(paths) > most else "")


def count(number: int, thing: str, things: str = "") -> str:
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def size(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "a single number"


def in_bytes(number: float) -> str:
    amount, unit = scaled(number)
    return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:,.1f} {unit}"
