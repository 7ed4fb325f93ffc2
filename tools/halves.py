"""The open and the closed half of every bench, in one table: where they differ, the page says so first."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.split import GAP, counted, points_apart

EXAM = Path(__file__).resolve().parent.parent / "docs" / "lint" / "exam.json"


def table(
    wild: dict[str, Any],
    worlds: dict[str, Any],
    unseen: dict[str, Any],
    numerics: dict[str, Any],
    check: list[dict[str, Any]],
) -> str:
    """What each bench found of each half, and which halves were tuned to."""
    exam = json.loads(EXAM.read_text(encoding="utf-8"))
    sets: list[tuple[str, str, dict[str, list[int]], str]] = [
        (
            "[public scripts with planted mistakes](wild.md): named first",
            "the open half",
            {half: [wild[half]["first"], wild[half]["planted"]] for half in ("open", "closed")},
            f"{wild['opened']}, `{wild['commit']}`",
        ),
        (
            "[lint's reports on other people's code](lint/precision.md): right",
            "the open half",
            {half: _exam(exam, half) for half in ("open", "closed")},
            exam["date"],
        ),
        (
            "faults that are in the data (`bench/worlds.py`): named first by run or check",
            "the open half",
            counted(
                (
                    (name, any(row[verb]["first"] for verb in ("run", "check") if verb in row))
                    for name, row in worlds["cases"].items()
                ),
                "worlds",
            ),
            worlds["measured"]["closed"].partition(",")[0],
        ),
        (
            "numerical faults that were written after the code: the line",
            "the open half",
            {"open": [0, 0], "closed": [unseen["counts"]["run_line"], unseen["faults"]]},
            "",
        ),
        (
            "planted numerical faults (`bench/numerics.py`): the line",
            "both",
            counted((row["file"], bool(row["line"])) for row in numerics["rows"]),
            "",
        ),
        (
            "broken projects (`bench/check.py`): named",
            "both",
            counted((row["case"], bool(row["named"])) for row in check),
            "",
        ),
        ("our own twins (`tests/test_twins.py`): named first", "both", {"open": [], "closed": []}, ""),
    ]
    head = [
        "| what | tuned to | open half | closed half | closed half last opened |",
        "|---|---|---|---|---|",
    ]
    rows = [
        f"| {what} | {tuned} | {_share(halves['open'])} | {_share(halves['closed'])} | {when} |"
        for what, tuned, halves, when in sets
    ]
    apart = [(what, points_apart(halves)) for what, _, halves, _ in sets if all(halves.values())]
    first = [
        f"**{what}: the closed half is {abs(points):.0f} points {'worse' if points > 0 else 'better'} than the open one.**"
        for what, points in apart
        if abs(points) > GAP
    ]
    good, count = wild["closed"]["first"], wild["closed"]["planted"]
    if count and wild["own"] - 100 * good / count > GAP:
        first.insert(
            0,
            f"**What we tuned to says {wild['own']:.0f} %; the closed half of the public scripts says {100 * good / count:.0f} %. "
            "Believe the second number.**",
        )
    return "\n".join([*(f"{line}\n" for line in first), *head, *rows])


def _exam(exam: dict[str, Any], half: str) -> list[int]:
    mine = [one for one in exam["verdicts"] if one["part"].split("-")[0] == half]
    return [sum(one["true"] for one in mine), len(mine)]


def _share(numbers: list[int]) -> str:
    if not numbers:
        return "all, or the test fails"
    good, count = numbers
    return f"{good} of {count} ({100 * good / count:.0f} %)" if count else ""
