"""Bytes in the unit in which a person reads them. How they are written is for each page to say."""

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
