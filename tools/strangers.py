"""The tables of what strangers wrote: every set that bench/strangers.py has recorded, and the sum of them for the README."""

from __future__ import annotations

from itertools import groupby
from typing import Any

_RIGHT = ("right", "named", "first")  # what counts for a kind of set; those of right scripts have none


def table(recorded: list[dict[str, Any]]) -> str:
    """Every set, in the order in which they were opened."""
    rows = ["| set | opened | right | right scripts accused | note |", "|---|---|---|---|---|"]
    for name, sets in _by_kind(recorded):
        for number, each in enumerate(sets):
            half = f"the {each['half']} half" if each["half"] else "the whole set"
            cells = [
                name if not number else "...",
                f"{each['opened']}, `{each['commit']}`, {half}",
                _share(_hits(each), each.get("faults", 0)),
                f"{each['alarms']} of {each['healthy']}",
                each["note"],
            ]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def in_short(recorded: list[dict[str, Any]]) -> str:
    """For the README: the newest set of each kind, and all of them together."""
    rows = ["| what they wrote | the newest set | all sets | right scripts accused |", "|---|---|---|---|"]
    for name, sets in _by_kind(recorded):
        faults, hits = sum(each.get("faults", 0) for each in sets), sum(map(_hits, sets))
        newest = sets[-1]
        cells = [
            name,
            f"{_hits(newest)} of {newest['faults']}" if faults else "",
            _share(hits, faults),
            f"{newest['alarms']} of {newest['healthy']}; in all {_sum(sets, 'alarms')} of {_sum(sets, 'healthy')}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _by_kind(recorded: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    kinds = list(dict.fromkeys(each["set"] for each in recorded))
    ordered = sorted(recorded, key=lambda each: kinds.index(each["set"]))
    return [(name, list(sets)) for name, sets in groupby(ordered, key=lambda each: each["set"])]


def _hits(recorded: dict[str, Any]) -> int:
    return next((recorded[key] for key in _RIGHT if key in recorded), 0)


def _sum(sets: list[dict[str, Any]], key: str) -> int:
    return sum(each[key] for each in sets)


def _share(hits: int, faults: int) -> str:
    return f"{hits} of {faults} ({100 * hits / faults:.0f} %)" if faults else ""
