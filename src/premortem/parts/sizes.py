"""Amounts of memory: as people write them, as people read them, and as this machine has them."""

import os
import re
import sys
from pathlib import Path

from premortem.amounts import scaled

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_AMOUNT = re.compile(r"\s*([0-9.]+)\s*(?:(%)|([kmgt]?)(i?)b?)\s*", re.IGNORECASE)


def in_bytes(amount: float | str) -> int:
    """`8GiB`, `500 MB`, a number of bytes; `50%`, or a number up to 1, of the memory that is free."""
    if isinstance(amount, str):
        found = _AMOUNT.fullmatch(amount)
        if found is None or found[1].count(".") > 1 or found[1] == ".":
            raise ValueError(
                f"`{amount}` is not an amount of memory; write 8GiB, 500MB, 50% or a number of bytes"
            )
        number = float(found[1])
        if found[2]:
            return int(number / 100 * free())
        return int(number * (_BINARY if found[4] else _UNITS)[found[3].lower()])
    if 0 < amount <= 1 and isinstance(amount, float):
        return int(amount * free())
    return int(amount)


def in_words(size: float) -> str:
    number, unit = scaled(size)
    return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"


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
