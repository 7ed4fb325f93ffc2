"""Numbers, sizes, times and lists of names as a person reads them."""

import os
from collections.abc import Iterable

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def scaled(count: float, largest: str = UNITS[-1]) -> tuple[float, str]:
    """1536 is (1.5, "KiB")."""
    number = float(count)
    for unit in UNITS[: UNITS.index(largest)]:
        if abs(number) < 1024:
            return number, unit
        number /= 1024
    return number, largest


def size(amount: float) -> str:
    """`1.5 GiB`, `120 MiB`."""
    number, unit = scaled(amount)
    if unit == "bytes":
        return f"{number:.0f} B"
    return f"{number:.0f} {unit}" if abs(number) >= 100 else f"{number:.1f} {unit}"


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `1,204 files`, `2 batches`."""
    many = plural or noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:,} {noun if number == 1 else many}"


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def some(names: Iterable[str], most: int = 3) -> str:
    """A few of many names: `a`, `b`, `c` and 2 more."""
    listed = list(names)
    shown = ", ".join(f"`{name}`" for name in listed[:most])
    return shown if len(listed) <= most else f"{shown} and {len(listed) - most:,} more"


def short(path: str | os.PathLike[str]) -> str:
    """As seen from the working folder, when it lies inside."""
    try:
        near = os.path.relpath(path)
    except (OSError, ValueError):  # the folder was deleted; another drive
        return str(path)
    return str(path) if near.startswith("..") else near


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def roughly(seconds: float) -> str:
    """How long something will take, for a person who waits for it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
