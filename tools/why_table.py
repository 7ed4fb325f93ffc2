"""What bench/why.py has measured, for docs/why.md: both halves of each set, `run` alone beside `why`."""

from __future__ import annotations

import statistics
from typing import Any

_HEAD = """\
| scripts | half | faults | named first by `run` | by `why` | proved | healthy | accused by `run` | by `why` | seconds |
|---|---|---|---|---|---|---|---|---|---|"""


def table(result: dict[str, Any]) -> str:
    every = list(result["scripts"].values())
    rows = counted(result)
    lines = [_HEAD]
    for name in (*sorted({row["set"] for row in rows}), "all"):
        for half in ("open", "closed"):
            some = [row for row in rows if name in {row["set"], "all"} and row["part"] == half]
            lines += [_line(name, half, some)] if some else []
    trials = statistics.median(len(row["trials"]) for row in rows)
    said = f"{len(rows)} scripts, drawn by chance; {trials:.0f} trials in the median"
    harmless = sum(row["verdict"] == "harmless" for row in every)
    if harmless:
        said += f"; {harmless} planted mistakes more cost nothing measurable"
    given = sorted({row.get("minutes", 2.0) for row in rows})
    minutes = " or ".join(f"{each:g}" for each in given)
    limits = f"{minutes} minutes for each script, one thread, no GPU"
    opened = result.get("opened")
    when = f" The closed half was opened once, {opened['opened']}, at {opened['commit']}." if opened else ""
    return "\n".join([*lines, "", f"{said}. `python bench/why.py`, {limits}.{when}"])


def in_short(result: dict[str, Any]) -> str:
    rows = counted(result)
    faults, healthy = _halves(rows)
    closed = [row for row in faults if row["part"] == "closed"]
    run, why, of_run, of_why = (_first(some, who) for some in (faults, closed) for who in ("run", "why"))
    accused = sum(row["why"] is not None for row in healthy)
    return (
        f"Of {len(faults)} scripts with one fault that shows in how they learn, `premortem run` names the fault first in {run}, "
        f"`premortem why` in {why}, and proves {_proved(faults)} of them by a run without it; in the half that `why` was not tuned to, "
        f"{of_run} and {of_why} of {len(closed)}. Of {len(healthy)} healthy ones it accuses {accused} (`python bench/why.py`)."
    )


def counted(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Without mistakes that cost nothing, and healthy scripts that could not be tried. A fault on which `why` came to no end is a
    miss."""
    return [
        row
        for row in result["scripts"].values()
        if row["verdict"] != "harmless" and (row["right"] or row["verdict"] not in {"cannot-run", "none"})
    ]


def _halves(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return [row for row in rows if row["right"]], [row for row in rows if not row["right"]]


def _first(faults: list[dict[str, Any]], who: str) -> int:
    return sum(row[who] in row["right"] for row in faults)


def _proved(faults: list[dict[str, Any]]) -> int:
    return sum(row["why"] in row["right"] and row["cause"]["certainty"] == "proved" for row in faults)


def _line(name: str, half: str, some: list[dict[str, Any]]) -> str:
    faults, healthy = _halves(some)
    accused = [sum(row[who] is not None for row in healthy) for who in ("run", "why")]
    seconds = f"{statistics.median(row['seconds'] for row in some):.0f}"
    first = [_first(faults, who) for who in ("run", "why")]
    cells = [name, half, len(faults), *first, _proved(faults), len(healthy), *accused, seconds]
    return f"| {' | '.join(map(str, cells))} |"
