"""What a diagnosis says as JSON: `--json FILE.json`, and what `report` and `ui` show."""

import math
from typing import Any

from premortem import __version__
from premortem.files.plain import dumps
from premortem.why import questions
from premortem.why.director import Why
from premortem.why.page import as_it_is, causes, main_stick
from premortem.why.verdict import CANNOT_RUN, FAILED, HELPS, HURTS, SKIPPED, Row

_POINTS = 200  # of a curve


def record(done: Why) -> str:
    """FILE.json."""
    said = done.verdict
    word = CANNOT_RUN if done.problem or said is None else said.verdict
    patch = done.patch
    whole = {
        "premortem": __version__,
        "verdict": word,
        "message": done.problem or (said.sentence if said is not None else "it was interrupted"),
        "causes": causes(done),
        "trials": [_trial(row) for row in done.rows],
        "patch": {key: patch[key] for key in ("diff", "verified", "before", "after")} if patch else None,
        "notes": [row.change for row in said.notes] if said is not None else [],
        "as_is": _as_is(done) if done.seeds else None,
        "questions": tree(done),
        "interrupted": done.interrupted,
        "seconds": done.seconds,
    }
    return dumps(whole, indent=2) + "\n"


def _as_is(done: Why) -> dict[str, Any]:
    stick = main_stick(done)
    return {
        "sentence": as_it_is(done),
        "learns": done.learns,
        "diverges": done.diverges,
        "backwards": done.first.backwards,
        "seeds": len(done.seeds),
        "metric": stick.name if stick is not None else None,
        "noise": done.chance,
        "curves": [thinned(list(stick.read(each))) for each in done.seeds] if stick is not None else [],
        "findings": [each["code"] for each in done.findings],
        "silenced": done.silenced,
        "repeatable": not done.unlike,
    }


def _trial(row: Row) -> dict[str, Any]:
    gain = row.gain
    return {
        "change": row.change,
        "title": row.title,
        "question": row.question,
        "family": row.family,
        "verdict": row.verdict,
        "metric": gain.yardstick or None,
        "as_is": gain.as_is if gain.yardstick else None,
        "changed": gain.changed if gain.yardstick else None,
        "again": row.again,
        "seconds": round(row.seconds, 2),
        "why": row.why,
        "curve": thinned(row.curve),
    }


def tree(done: Why) -> list[dict[str, Any]]:
    """The questions with their answers and the trials that gave them."""
    found = []
    for question in questions.QUESTIONS:
        rows = [row for row in done.rows if row.question == question.key]
        tried = [row for row in rows if row.verdict not in {SKIPPED, FAILED}]
        if question.key == "as it is":
            answer = (
                (question.yes if done.learns and not done.diverges else question.no) if done.seeds else ""
            )
        else:
            answer = (question.yes if any(map(_speaks, tried)) else question.no) if tried else ""
        if rows or answer:
            found.append(
                {
                    "question": question.text,
                    "answer": answer or "not asked",
                    "trials": [row.change for row in tried],
                    "skipped": {row.change: row.why for row in rows if row.verdict == SKIPPED},
                }
            )
    return found


def _speaks(row: Row) -> bool:
    """Whether its question is answered with yes."""
    if row.question == "neighbours":
        return bool(row.why)
    return row.verdict in {"information": {HURTS}, "split": {HURTS, HELPS}}.get(row.question, {HELPS})


def thinned(series: list[float]) -> list[float]:
    apart = max(1, math.ceil(len(series) / _POINTS))
    return series[::apart]
