"""One split for all benches: half of what they measure is closed, by a hash of its name, once and for all.

Whoever tunes a rule looks at the open half alone. The closed half is only counted, by a program, which writes down when it did so
and at which commit.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GAP = 5.0  # points: a page says first where what we tuned to and the closed half differ by more
# Sets whose halves were fixed before all benches shared this file keep the hash they were split by: what was tuned to stays open.
EARLIER: dict[str, Callable[[bytes], bool]] = {
    "worlds": lambda name: hashlib.blake2b(name).digest()[0] % 2 == 1,
    "why": lambda name: hashlib.sha256(name).digest()[-1] % 2 == 1,
    "numerics-unseen": lambda name: hashlib.sha256(name).digest()[-1] % 2 == 0,
}


def is_closed(name: str, of: str = "") -> bool:
    """Of a repository, a case, a world: whatever the bench counts."""
    if of in EARLIER:
        return EARLIER[of](name.encode())
    return hashlib.sha256(name.lower().encode()).digest()[0] % 2 == 1


def half_of(name: str, of: str = "") -> str:
    return "closed" if is_closed(name, of) else "open"


def counted(rows: Iterable[tuple[str, bool]], of: str = "") -> dict[str, list[int]]:
    """Of names and whether they came out right: how many of each half did, and of how many."""
    halves = {"open": [0, 0], "closed": [0, 0]}
    for name, right in rows:
        numbers = halves[half_of(name, of)]
        numbers[0] += right
        numbers[1] += 1
    return halves


def points_apart(halves: dict[str, list[int]]) -> float:
    """By how many points the open half is better than the closed one; 0 where a half is empty."""
    shares = [100 * good / count for good, count in (halves["open"], halves["closed"]) if count]
    return shares[0] - shares[1] if len(shares) == 2 else 0.0


def opened_by() -> dict[str, Any]:
    """When and by which commit the closed half was counted."""
    said = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    day = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return {"opened": day, "commit": said.stdout.strip() or "unknown"}
