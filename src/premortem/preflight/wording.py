"""Sizes and places as people read them."""

from __future__ import annotations

import os
from pathlib import Path

from premortem.amounts import scaled
from premortem.findings import Where


def size(count: float) -> str:
    """`1.5 GiB`."""
    number, unit = scaled(count)
    return f"{number:.0f} B" if unit == "bytes" else f"{number:.1f} {unit}"


def short(path: str | Path) -> str:
    """As seen from the working folder, when it lies inside."""
    try:
        near = os.path.relpath(path)
    except (OSError, ValueError):  # the folder was deleted; another drive
        return str(path)
    return str(path) if near.startswith("..") else near


def place(where: Where) -> str:
    """`train.py:12`."""
    if not where.file:
        return ""
    return f"{short(where.file)}:{where.line}" if where.line else short(where.file)
