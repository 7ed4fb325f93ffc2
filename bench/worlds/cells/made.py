"""How a cell is written down."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.worlds.base import World
from bench.worlds.cases import ALL, Case

Spoil = Callable[[World], None]


def boundary(script: str, make: Callable[[], World], write: Callable[[World, Path], None]):
    """A decorator for bad worlds of one script: the name, and the words that name the fault."""

    def cell(name: str, says: str) -> Callable[[Spoil], Spoil]:
        def add(spoil: Spoil) -> Spoil:
            about = (spoil.__doc__ or "").strip()
            ALL[name] = Case(
                name, f"cells/scripts/{script}.py", "", make, write, spoil, boundary=about, says=says
            )
            return spoil

        return add

    return cell


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]], encoding: str = "utf-8") -> None:
    found = list(rows)
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
