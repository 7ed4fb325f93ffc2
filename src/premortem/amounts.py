"""Bytes and seconds in the unit in which a person reads them."""

from __future__ import annotations

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def scaled(count: float, largest: str = UNITS[-1]) -> tuple[float, str]:
    """1536 is (1.5, "KiB")."""
    number = float(count)
    for unit in UNITS[: UNITS.index(largest)]:
        if abs(number) < 1024:
            return number, unit
        number /= 1024
    return number, largest


def roughly(seconds: float) -> str:
    """How long something will take, for a person who waits for it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
