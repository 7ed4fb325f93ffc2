"""Run every case of the casebook through premortem, healthy and with each of its faults, and print the table.

python casebook/run.py [--only ris[,I1,I3]] [--quick] [--json FILE]

Detected: premortem said an error or a warning. Right: the first one is of the family that the story expects.
In time: it was said at the moment the story asks for. Recovered: the run ended well, at about the healthy quality.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from common.faults import ids, story
from verbs import Answer, Question, ask

RESULTS = HERE.parent / "bench" / "results" / "casebook.json"
NEAR = 0.1  # how far from the healthy quality, towards the baseline, a recovered run may end


def cases(only: str) -> dict[Path, list[str]]:
    """Which cases, with which of their faults."""
    found = {path.parent: ids(path.parent) for path in sorted(HERE.glob("*/train.py"))}
    if not only:
        return found
    name, *chosen = only.split(",")
    case = HERE / name
    unknown = set(chosen) - set(found.get(case, []))
    if case not in found or unknown:
        raise SystemExit(f"there is no {', '.join(sorted(unknown)) or name} in the casebook")
    return {case: chosen or found[case]}


def quick_arguments(case: Path) -> list[str]:
    path = case / "quick.txt"
    return path.read_text().split()


def in_time(moment: str, answer: Answer, healthy: dict[str, Any]) -> bool:
    """`before`, `step<=8` or `epoch<=3`; an epoch has as many steps as in the healthy run."""
    step = answer.findings[0].get("step") if answer.findings else None
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
        "in_time": first is not None and in_time(tale["moment"], answer, healthy),
        "proof": answer.proof,
        "recovers": tale["recovers"],
        "recovered": _recovered(answer, healthy),
    }
    told["green"] = told["right"] and told["in_time"] and (told["recovered"] or not tale["recovers"])
    return told


def _recovered(answer: Answer, healthy: dict[str, Any]) -> bool:
    if answer.recovered is not None:
        return answer.recovered
    return answer.exit_code == 0 and "quality" in answer.result and near(answer.result["quality"], healthy)


def plain(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def line(told: dict[str, Any]) -> str:
    quality = f"{told['quality']:.3g} (baseline {told['baseline']:.3g})" if "quality" in told else "-"
    if told["id"] == "healthy":
        verdict = "no alarm" if not told["said"] else "FALSE ALARM"
        return (
            f"{told['case']:<13}healthy  {verdict:<12} {quality}  {told['cpu_seconds']} CPU s  {told['said']}"
        )
    marks = " ".join(
        f"{name} {'yes' if told[name] else 'NO'}," for name in ("detected", "right", "in_time", "recovered")
    )
    when = "before" if told["step"] is None or told["verb"] == "lint" else f"step {told['step']}"
    green = "green" if told["green"] else "RED"
    return (
        f"{told['case']:<13}{told['id']:<8} {green:<6}{marks} {when}, {told['cpu_seconds']} CPU s, {quality}\n"
        f"{'':21} premortem {told['verb']}: {'; '.join(told['said']) or 'nothing'} {told['proof']}"
    )


def examine(case: Path, faults: list[str], folder: Path, *, quick: bool) -> list[dict[str, Any]]:
    """The healthy run first: what it reaches is what the others are measured by."""
    arguments = quick_arguments(case) if quick else []
    answer = ask("run", Question(case, None, folder / case.name / "healthy", arguments))
    answer.findings += ask("lint", Question(case, None, folder / case.name / "lint", [])).findings
    healthy = row(case, None, answer, None)
    if "quality" not in healthy:
        raise SystemExit(f"the healthy {case.name} did not come to its end:\n{answer.output}")
    print(line(healthy), flush=True)
    rows = [healthy]
    for fault in faults:
        question = Question(case, fault, folder / case.name / fault, arguments)
        rows.append(row(case, fault, ask(story(case, fault)["verb"], question), healthy))
        print(line(rows[-1]), flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="CASE[,ID...]")
    parser.add_argument("--quick", action="store_true", help="less data and fewer epochs")
    parser.add_argument("--json", type=Path, help=f"where the rows go (default, for whole runs: {RESULTS})")
    parser.add_argument("--keep", type=Path, help="keep what the runs write here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)).resolve()
        rows: list[dict[str, Any]] = []
        for case, faults in cases(options.only).items():
            rows += examine(case, faults, folder, quick=options.quick)
    target = options.json or (None if options.only or options.quick else RESULTS)
    if target:
        finite = [{key: plain(value) for key, value in told.items()} for told in rows]
        target.write_text(json.dumps({"quick": options.quick, "rows": finite}, indent=1) + "\n")
    faulty = [told for told in rows if told["id"] != "healthy"]
    alarms = sum(bool(told["said"]) for told in rows if told["id"] == "healthy")
    green = sum(told["green"] for told in faulty)
    print(
        f"{green} of {len(faulty)} faults green, {alarms} false alarms on {len(rows) - len(faulty)} healthy runs"
    )
    return 0 if green == len(faulty) and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
