"""How often `premortem why` names the cause first, beside `premortem run` alone, on the same scripts.

    python bench/why.py [--sets twins,exam,forum,healthy] [--minutes 2] [--most N] [--only TEXT] [--part open|closed|all]
                        [--shared FOLDER] [--missing]

A script is judged by the family of the first thing that is said about it. Half of the set is closed, by a hash of the
script's name: look at the open half, and measure on both. `--shared` is the folder with `exam/`, where it is at hand.
Each script is written when it is done; `--missing` leaves out those that are there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from split import half_of

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "why.json"
# Families of faults that show in how a model learns; the others are about files, memory, time, other processes.
LEARNING = frozenset(
    "optimizer-ownership grad-flow update-order accumulation scheduler lr eval-mode eval-stale data-labels data-order "
    "data-augment data-scale shape init-saturation vanishing exploding clipping weight-decay loss-definition config "
    "numerics-masked numerics-overflow".split()
)


def part(name: str) -> str:
    return half_of(name, "why")


def scripts(shared: Path | None) -> Iterator[dict[str, Any]]:
    """Each with its set, its path, and the families that are right; none for a healthy one."""
    twins = ROOT / "tests" / "twins"
    for manifest in sorted(twins.glob("manifest_*.json")):
        yield from _entries("twins", twins, json.loads(manifest.read_text()))
    for path in sorted((ROOT / "tests" / "why" / "healthy").glob("*.py")):
        yield {"set": "healthy", "name": f"healthy/{path.name}", "path": path, "right": []}
    for name, folder in (("exam", "exam"), ("forum", "exam/forum")):
        if shared is not None and (shared / folder / "manifest.json").exists():
            yield from _entries(
                name, shared / folder, json.loads((shared / folder / "manifest.json").read_text())
            )


def _entries(name: str, folder: Path, entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        buggy = entry["set"] == "buggy"
        right = [entry["category"], *entry.get("also", ()), *entry.get("near", ())] if buggy else []
        if buggy and entry["category"] not in LEARNING:
            continue
        path = folder / entry["file"]
        if path.exists():
            yield {"set": name, "name": f"{name}/{entry['file']}", "path": path, "right": right}


def measured(entry: dict[str, Any], minutes: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        ran = _run(["run", "--quiet", "--policy", "observe"], "--findings", entry["path"], folder, 300)
        began = time.monotonic()
        told = _run(
            ["why", "--quiet", "--minutes", str(minutes)],
            "--json",
            entry["path"],
            folder,
            120 * minutes + 300,
        )
        seconds = time.monotonic() - began
    loud = [each for each in ran.get("findings", ()) if each["severity"] in {"error", "warning"}]
    first = next((each for each in loud if each["severity"] == "error"), loud[0] if loud else None)
    causes = told.get("causes", [])
    return {
        "set": entry["set"],
        "part": part(entry["name"]),
        "right": entry["right"],
        "run": first["family"] if first else None,
        "why": causes[0]["family"] if causes else None,
        "certainty": causes[0]["certainty"] if causes else None,
        "verdict": told.get("verdict", "none"),
        "patch": bool(told.get("patch") and told["patch"]["verified"]),
        "trials": sum(each["verdict"] != "skipped" for each in told.get("trials", ())),
        "seconds": round(seconds, 1),
    }


def _run(verb: list[str], option: str, script: Path, folder: str, limit: float) -> dict[str, Any]:
    file = Path(folder, f"{verb[0]}.json")
    words = [sys.executable, "-m", "premortem", *verb, option, str(file), str(script)]
    try:
        subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            check=False,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return {}
    told: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return told


def table(rows: dict[str, dict[str, Any]]) -> str:
    lines = ["set       part    faults  first by run  first by why  proved  healthy  accused by run  by why"]
    for name in (*sorted({row["set"] for row in rows.values()}), "all"):
        for half in ("open", "closed", "all"):
            some = [r for r in rows.values() if name in {r["set"], "all"} and half in {r["part"], "all"}]
            lines.append(_line(name, half, some))
    return "\n".join(lines)


def _line(name: str, half: str, some: list[dict[str, Any]]) -> str:
    faults, healthy = [r for r in some if r["right"]], [r for r in some if not r["right"]]
    run, why = (sum(r[who] in r["right"] for r in faults) for who in ("run", "why"))
    proved = sum(r["why"] in r["right"] and r["certainty"] == "proved" for r in faults)
    accused = [sum(r[who] is not None for r in healthy) for who in ("run", "why")]
    return (
        f"{name:<9} {half:<7} {len(faults):>6}  {run:>12}  {why:>12}  {proved:>6}  {len(healthy):>7}  "
        f"{accused[0]:>14}  {accused[1]:>6}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default="twins,exam,forum,healthy")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", choices=("open", "closed", "all"), default="all")
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--missing", action="store_true")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text())["scripts"] if RESULTS.exists() else {}
    chosen = [each for each in scripts(options.shared) if each["set"] in options.sets.split(",")]
    chosen = [each for each in chosen if options.only in each["name"]]
    chosen = [each for each in chosen if options.part in {"all", part(each["name"])}]
    if options.missing:
        chosen = [each for each in chosen if each["name"] not in rows]
    for entry in sorted(chosen, key=lambda each: hashlib.sha256(each["name"].encode()).hexdigest())[
        : options.most
    ]:
        row = rows[entry["name"]] = measured(entry, options.minutes)
        print(entry["name"], row, flush=True)
        RESULTS.write_text(json.dumps({"scripts": dict(sorted(rows.items()))}, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
