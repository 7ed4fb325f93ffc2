"""How many mistakes are caught that nobody wrote into the casebook: `premortem drill` on each of its cases.

    python bench/drill.py [--only CASE] [--mutants NAMES] [--missing] [--jobs 1]

Each case is drilled at the arguments in its `drill.txt`: a whole training with evaluations and checkpoints, of seconds.
Each case is written when it is done; `--missing` leaves out those that were drilled with the same code. `--mutants` drills
some again, and leaves the other rows of the file as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CASEBOOK = ROOT / "casebook"
RESULTS = ROOT / "bench" / "results" / "drill.json"
sys.path.insert(0, str(CASEBOOK))

from rows import code_of  # type: ignore[import-not-found]  # noqa: E402 - from the casebook


def arguments_of(case: Path) -> list[str]:
    return (case / "drill.txt").read_text().split()


def drill(case: Path, mutants: str, jobs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "drill.json")
        words = ["drill", "--steps", "0", "--jobs", str(jobs), "--json", str(page)]
        words += ["--only", mutants] if mutants else []
        subprocess.run(
            [sys.executable, "-m", "premortem", *words, "train.py", *arguments_of(case)],
            cwd=case,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            check=False,
        )
        told: dict[str, Any] = json.loads(page.read_text())
    if told["problem"]:
        raise SystemExit(f"{case.name}: {told['problem']}")
    return {"arguments": arguments_of(case), "clean": told["clean"], "mutants": told["mutants"]}


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    fresh = {each["name"]: each for each in new["mutants"]}
    rows = [fresh.pop(each["name"], each) for each in old.get("mutants", [])]
    return {**new, "mutants": [*rows, *fresh.values()]}


def read() -> dict[str, Any]:
    return json.loads(RESULTS.read_text())["cases"] if RESULTS.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="CASE")
    parser.add_argument("--mutants", default="", metavar="NAMES")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    for case in sorted(path.parent for path in CASEBOOK.glob("*/drill.txt")):
        code = code_of(case)
        if options.only not in (None, case.name) or (
            options.missing and read().get(case.name, {}).get("code") == code
        ):
            continue
        print(case.name, flush=True)
        done = drill(case, options.mutants, options.jobs)
        known = read()  # again: another case may have been written meanwhile
        old = known.get(case.name, {}) if options.mutants else {}
        known[case.name] = {**merged(old, done), "code": code}
        RESULTS.write_text(json.dumps({"cases": dict(sorted(known.items()))}, indent=1) + "\n")


if __name__ == "__main__":
    main()
