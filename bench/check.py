"""How many broken projects `premortem check` names, and how many healthy ones it leaves alone.

    python bench/check.py [--only TEXT] [--no-rehearsal] [--jobs 1] [--json FILE]

Each folder of bench/check is a project in two versions, `broken/` and `healthy/`, with one thing between them.
`case.json` says what it is about, what follows `premortem check`, and the family that must be named:

    {"about": "...", "command": ["train.py"], "expect": {"family": ["config"]}, "environment": {"NAME": "{case}/x"}}

A project is copied before it is checked; a `make.py` in its folder then makes what is too large to keep, or cannot be
kept. Named: an error or a warning of an expected family. Silent: no error, no warning, exit code 0.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "bench" / "check"
LOUD = ("error", "warning")


def cases(only: str) -> list[Path]:
    return sorted(path.parent for path in CASES.glob("*/case.json") if only in path.parent.name)


def judge(case: Path, *, rehearsal: bool) -> dict[str, Any]:
    """One project in both versions."""
    about = json.loads((case / "case.json").read_text(encoding="utf-8"))
    wanted = set(about["expect"]["family"])
    with tempfile.TemporaryDirectory(prefix="premortem-check-") as folder:
        copy = Path(folder).resolve() / case.name
        shutil.copytree(case, copy)
        if (copy / "make.py").exists():
            subprocess.run([sys.executable, "make.py"], cwd=copy, check=True, stdin=subprocess.DEVNULL)
        broken, healthy = (check(copy, twin, about, rehearsal=rehearsal) for twin in ("broken", "healthy"))
    named = [f for f in broken["findings"] if f["severity"] in LOUD and f["family"] in wanted]
    alarms = [f for f in healthy["findings"] if f["severity"] in LOUD]
    return {
        "case": case.name,
        "about": about["about"],
        "named": sorted({f"{f['code']} {f['name']}" for f in named}),
        "beside": sorted(
            {f["code"] for f in broken["findings"] if f["severity"] in LOUD} - {f["code"] for f in named}
        ),
        "alarms": [f"{f['code']} {f['name']}: {f['message']}" for f in alarms],
        "healthy_exit_code": healthy["exit_code"],
        "seconds": {"broken": broken["seconds"], "healthy": healthy["seconds"]},
        "passed": bool(named) and not alarms and healthy["exit_code"] == 0,
    }


def check(case: Path, twin: str, about: dict[str, Any], *, rehearsal: bool) -> dict[str, Any]:
    told = case / f"{twin}.json"
    more = {
        name: value.replace("{case}", str(case / twin)).replace("{twin}", twin)
        for name, value in about.get("environment", {}).items()
    }
    quick = [] if rehearsal else ["--no-rehearsal"]
    words = [
        sys.executable,
        "-m",
        "premortem",
        "check",
        "--quiet",
        "--findings",
        str(told),
        *quick,
        *about["command"],
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **more}
    began = time.monotonic()
    done = subprocess.run(
        words,
        cwd=case / twin,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    seconds = round(time.monotonic() - began, 1)
    if not told.exists():
        raise SystemExit(f"{case.name}/{twin}: no findings were written\n{done.stderr}")
    return {
        "findings": json.loads(told.read_text(encoding="utf-8"))["findings"],
        "exit_code": done.returncode,
        "seconds": seconds,
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--no-rehearsal", action="store_true", help="only what needs no run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        chosen = cases(options.only)
        results = list(pool.map(lambda case: judge(case, rehearsal=not options.no_rehearsal), chosen))
    for result in results:
        mark = "ok  " if result["passed"] else "FAIL"
        print(f"{mark} {result['case']:<28} {', '.join(result['named']) or 'not named'}  {result['seconds']}")
        for code in result["beside"]:
            print(f"       beside: {code}")
        for alarm in result["alarms"]:
            print(f"       false alarm: {alarm}")
    named = sum(bool(result["named"]) for result in results)
    silent = sum(not result["alarms"] for result in results)
    print(f"{named} of {len(results)} broken projects named, {silent} of {len(results)} healthy ones silent")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0 if all(result["passed"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
