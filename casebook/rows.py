"""One row of the casebook's table: what premortem said about a case, and what became of the run. Nothing runs here."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from common.faults import LEFT_OUT, story
from verbs import STOPPED, Answer

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src" / "premortem"
NEAR = 0.1  # how far from the healthy quality, towards the baseline, a recovered run may end
BEFORE = frozenset({"lint", "check", "fit", "notebook"})  # nothing was trained yet when these spoke


def code_of(case: Path) -> str:
    """Rows with the same mark come from the same code: premortem's, the casebook's and the case's own."""
    files = [*SOURCE.rglob("*.py"), *HERE.glob("*.py"), *(HERE / "common").glob("*.py")]
    files += [
        path
        for path in case.rglob("*")
        if path.is_file() and not set(path.relative_to(case).parts) & (set(LEFT_OUT) - {"faults"})
    ]
    mark = hashlib.sha256()
    for path in sorted(files):
        mark.update(str(path.relative_to(HERE.parent)).encode() + b"\0" + path.read_bytes())
    return mark.hexdigest()[:12]


def in_time(moment: str, step: int | None, healthy: dict[str, Any]) -> bool:
    """`before`, `step<=8` or `epoch<=3`; an epoch has as many steps as in the healthy run."""
    if moment == "before":
        return step is None or step <= 1
    kind, _, limit = moment.partition("<=")
    if step is None:
        return True
    longest = int(limit) * (healthy["steps"] / healthy["epochs"] if kind == "epoch" else 1)
    return step <= longest


def near(quality: float, healthy: dict[str, Any]) -> bool:
    if not math.isfinite(quality):
        return False
    return abs(quality - healthy["quality"]) <= NEAR * abs(healthy["baseline"] - healthy["quality"]) or (
        (quality < healthy["quality"]) == (healthy["better"] == "lower")
    )


def row(case: Path, fault: str | None, answer: Answer, healthy: dict[str, Any] | None) -> dict[str, Any]:
    first = answer.findings[0] if answer.findings else None
    told: dict[str, Any] = {
        "case": case.name,
        "id": fault or "healthy",
        "said": [f"{f['code']} {f['name']}" for f in answer.findings],
        "step": first.get("step") if first else None,
        "seconds": answer.first_after,
        "exit_code": answer.exit_code,
        "steps": answer.steps,
        "cpu_seconds": round(answer.cpu_seconds, 1),
        **answer.result,
    }
    if fault is None or healthy is None:
        return told
    tale = story(case, fault)
    wanted = tale["expect"]["families"]
    told |= {
        "verb": tale["verb"],
        "detected": first is not None,
        "right": first is not None and first["family"] in wanted,
        "in_time": first is not None and in_time(tale["moment"], first.get("step"), healthy),
        "proof": answer.proof,
        "recovers": tale["recovers"],
        "ending": ending(tale["verb"], answer, healthy),
    }
    if answer.rescue and told["ending"] != "recovered":
        told["rescue"] = answer.rescue
        if answer.rescue["quality"] is not None and near(answer.rescue["quality"], healthy):
            told |= {"ending": "rescued", "quality": answer.rescue["quality"]}
    told["recovered"] = told["ending"] in {"recovered", "rescued"}
    told["green"] = told["right"] and told["in_time"] and (told["recovered"] or not tale["recovers"])
    return told


def ending(verb: str, answer: Answer, healthy: dict[str, Any]) -> str:
    """What became of the run: recovered, stopped by premortem, worse than the healthy one, broken off, never begun."""
    if answer.recovered is not None:
        return "recovered" if answer.recovered else "lost"
    if verb in BEFORE:
        return "not begun"
    if answer.exit_code == STOPPED:
        return "stopped"
    if answer.exit_code or "quality" not in answer.result:
        return "broken off"
    return "recovered" if near(answer.result["quality"], healthy) else "worse"


def line(told: dict[str, Any]) -> str:
    """The row for a terminal."""
    quality = (
        f"{float(told['quality']):.3g} (baseline {float(told['baseline']):.3g})" if "quality" in told else "-"
    )
    if told["id"] == "healthy":
        verdict = "no alarm" if not told["said"] else "FALSE ALARM"
        return (
            f"{told['case']:<13}healthy  {verdict:<12} {quality}  {told['cpu_seconds']} CPU s  {told['said']}"
        )
    marks = " ".join(f"{name} {'yes' if told[name] else 'NO'}," for name in ("detected", "right", "in_time"))
    when = "before" if told["step"] is None or told["verb"] == "lint" else f"step {told['step']}"
    green = "green" if told["green"] else "RED"
    return (
        f"{told['case']:<13}{told['id']:<8} {green:<6}{marks} {when}, {told['ending']}, {told['cpu_seconds']} CPU s, "
        f"{quality}\n{'':21} premortem {told['verb']}: {'; '.join(told['said']) or 'nothing'} {told['proof']}"
    )


def plain(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write(path: Path, rows: list[dict[str, Any]], *, quick: bool) -> None:
    finite = [{key: plain(value) for key, value in told.items()} for told in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"quick": quick, "rows": finite}, indent=1) + "\n")


def read(path: Path, *, quick: bool) -> list[dict[str, Any]]:
    """Rows of an earlier run at the same scale."""
    if not path.exists():
        return []
    kept = json.loads(path.read_text())
    return list(kept["rows"]) if kept["quick"] == quick else []
