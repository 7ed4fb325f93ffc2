"""What `premortem why` has found out about a run: the questions with their answers, and the curves of all trials."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from premortem.journal import Run
from premortem.report import curves, words
from premortem.report.curves import Curve

_MOST = 8  # curves over each other that the eye can still separate


@dataclass
class Trials:
    verdict: str = ""
    message: str = ""
    as_is: str = ""
    questions: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    causes: list[dict[str, Any]] = field(default_factory=list)
    diff: str = ""
    verified: bool = False
    curves: dict[str, Curve] = field(default_factory=dict)


def of(run: Run) -> Trials | None:
    """The newest diagnosis, where there is one."""
    records = [event.get("record") for event in run.events("Diagnosed")]
    told = next((each for each in reversed(records) if isinstance(each, dict)), None)
    return None if told is None else _read(told)


def _read(told: Mapping[str, Any]) -> Trials:
    as_is, patch = told.get("as_is") or {}, told.get("patch") or {}
    every = list(told.get("trials", ()))
    # A proposal that could not be tried is an answer too; a change that does not apply is none.
    rows = [row for row in every if row.get("verdict") != "skipped" or row.get("question") == "proposals"]
    length = int(as_is.get("backwards") or 0)
    series = dict(zip(("as it is", "as it is, another seed"), as_is.get("curves", ()), strict=False))
    best = sorted(rows, key=lambda row: row.get("verdict") != "helps")
    series |= {str(row.get("title")): row["curve"] for row in best[:_MOST] if row.get("curve")}
    # Where all of them are NaN from some step on, the steps before it are what there is to see.
    seen = max(
        (place for values in series.values() for place, y in enumerate(values) if _is_finite(y)), default=0
    )
    drawn = {name: _curve(values, length, seen + 2) for name, values in series.items()}
    return Trials(
        verdict=str(told.get("verdict", "")),
        message=str(told.get("message", "")),
        as_is=str(as_is.get("sentence", "")),
        questions=[_question(each, every) for each in told.get("questions", ())],
        rows=[{**row, "effect": _effect(row)} for row in rows],
        causes=list(told.get("causes", ())),
        diff=str(patch.get("diff", "")),
        verified=bool(patch.get("verified")),
        curves={name: curve for name, curve in drawn.items() if curve.low is not None},
    )


def _question(asked: Mapping[str, Any], rows: list[Any]) -> dict[str, Any]:
    """With the titles of its trials, or why there were none."""
    titles = {row.get("change"): str(row.get("title")) for row in rows}
    tried = [titles.get(name, str(name)) for name in asked.get("trials", ())]
    reasons = list(dict.fromkeys(str(why) for why in (asked.get("skipped") or {}).values() if why))
    return {**asked, "trials": ", ".join(tried) or "; ".join(reasons)}


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _curve(series: list[Any], length: int, most: int) -> Curve:
    apart = max(1, round(length / max(1, len(series))))
    shown = series[:most]
    return curves.of_values([apart * place for place in range(len(shown))], shown)


def _effect(row: Mapping[str, Any]) -> str:
    if row.get("as_is") is None:
        return str(row.get("why", ""))
    why = f" ({row['why']})" if row.get("why") else ""
    return f"{row['metric']} {words.value(row['as_is'])} → {words.value(row['changed'])}{why}"
