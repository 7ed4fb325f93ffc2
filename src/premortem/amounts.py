"""Numbers, sizes, times and lists of names as a person reads them; the memory that there is."""

import os
import re
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def scaled(count: float) -> tuple[float, str]:
    """1536 is (1.5, "KiB")."""
    number = float(count)
    for unit in UNITS[:-1]:
        if abs(number) < 1024:
            return number, unit
        number /= 1024
    return number, UNITS[-1]


def size(amount: float, digits: int = 0) -> str:
    """`1.5 GiB`, `120 MiB`; with `digits` of them where they say something: `24 MiB`, `1.25 GiB`."""
    number, unit = scaled(amount)
    if unit == "bytes":
        return f"{number:.0f} B"
    if digits and abs(number) < 999.5:
        return f"{number:.{digits}g} {unit}"
    return f"{number:.0f} {unit}" if abs(number) >= 100 else f"{number:.1f} {unit}"


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `1,204 files`, `2 batches`, `3 epochs`."""
    many = plural or noun + ("es" if noun.endswith(("tch", "nch")) else "s")
    return f"{number:,} {noun if number == 1 else many}"


def share(part: float, whole: float, decimals: int = 1) -> str:
    return f"{100 * part / whole:.{decimals}f} %" if whole > 0 else "0 %"


def some(names: Iterable[str], most: int = 3) -> str:
    """A few of many names: `a`, `b`, `c` and 2 more."""
    return few([f"`{name}`" for name in names], most)


def few(words: Sequence[str], most: int = 3, between: str = ", ") -> str:
    """The first of many: a, b, c and 2 more."""
    shown = between.join(words[:most])
    return shown if len(words) <= most else f"{shown} and {len(words) - most:,} more"


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


def minute(moment: float) -> str:
    """A moment in seconds since 1970, in UTC: `2026-03-01 14:05`."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(moment))


def stamp(moment: float) -> str:
    """The same for programs: `2026-03-01T14:05:09.250+00:00`."""
    from datetime import datetime, timezone

    return datetime.fromtimestamp(moment, timezone.utc).isoformat(timespec="milliseconds")


def length(things: Any) -> int | None:
    """How many there are; None of a stream."""
    try:
        return len(things)
    except (TypeError, NotImplementedError):
        return None


def free() -> int:
    """What can be had without swapping, also inside a container."""
    found = [_of_the_machine()]
    for folder, limit, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            most, now, stat = ((Path(folder) / name).read_text() for name in (limit, used, "memory.stat"))
            reclaimable = re.search(r"^(?:total_)?inactive_file (\d+)", stat, re.MULTILINE)  # the page cache
            found.append(max(0, int(most) - int(now) + int(reclaimable[1] if reclaimable else 0)))
        except (OSError, ValueError):  # no container, or one without a limit ("max")
            continue
    return min(found)


def peak() -> int:
    """The most memory that this process has had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _of_the_machine() -> int:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
