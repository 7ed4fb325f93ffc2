"""What bench/why.py has measured, for docs/why.md: both halves of each set, `run` alone beside `why`."""

from __future__ import annotations

import statistics
from typing import Any

_HEAD = """\
| scripts | half | faults | named first by `run` | by `why` | proved | healthy | accused by `run` | by `why` | seconds |
|---|---|---|---|---|---|---|---|---|---|"""


def table(result: dict[str, Any]) -> str:
    every = [row for row in result["scripts"].values() if row["verdict"] != "none"]
    rows = [row for row in every if row["verdict"] != "harmless"]
    lines = [_HEAD]
    for name in (*sorted({row["set"] for row in rows}), "all"):
        for half in ("open", "closed"):
            some = [row for row in rows if name in {row["set"], "all"} and row["part"] == half]
            lines += [_line(name, half, some)] if some else []
    trials = statistics.median(len(row["trials"]) for row in rows)
    counted = f"{len(rows)} scripts, drawn by chance; {trials:.0f} trials in the median"
    if len(every) > len(rows):
        counted += f"; {len(every) - len(rows)} planted mistakes more cost nothing measurable"
    given = sorted({row.get("minutes", 2.0) for row in rows})
    minutes = " or ".join(f"{each:g}" for each in given)
    limits = f"{minutes} minutes for each script, one thread, no GPU"
    return "\n".join([*lines, "", f"{counted}. `python bench/why.py`, {limits}."])


def _line(name: str, half: str, some: list[dict[str, Any]]) -> str:
    faults, healthy = [row for row in some if row["right"]], [row for row in some if not row["right"]]
    run, why = (sum(row[who] in row["right"] for row in faults) for who in ("run", "why"))
    proved = sum(row["why"] in row["right"] and row["cause"]["certainty"] == "proved" for row in faults)
    accused = [sum(row[who] is not None for row in healthy) for who in ("run", "why")]
    seconds = f"{statistics.median(row['seconds'] for row in some):.0f}"
    cells = [name, half, len(faults), run, why, proved, len(healthy), *accused, seconds]
    return f"| {' | '.join(map(str, cells))} |"
