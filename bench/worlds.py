"""Faults that are in the world and not in the script: named by `premortem run`, by `premortem check`, by either.

    python bench/worlds.py [--half open|closed|all] [--only TEXT] [--verbs run,check] [--harm] [--json FILE] [--jobs N] [--write]

Each case of bench/worlds/cases.py is a correct script and two worlds. `check` runs without its rehearsal, which would say what
`run` says. Half of the cases, by the hash of their names, are closed: no threshold was chosen on them.
Named: an error or warning of the case's family, or whose words name what the case says, in the bad world only. Alarm: an error or warning in the good world.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HOME))

import bench.worlds.besides  # noqa: E402
import bench.worlds.cells  # noqa: E402
import bench.worlds.further  # noqa: E402
import bench.worlds.strangers  # noqa: E402, F401
from bench.worlds.cases import ALL, Case  # noqa: E402
from tests import starting  # noqa: E402

RESULTS = HOME / "bench" / "results" / "worlds.json"
SCRIPTS = HOME / "bench" / "worlds"


def launch(case: Case, kind: str, verb: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        world, out, side = folder / "world", folder / "f.json", folder / "world.env.json"
        case.build(world, kind == "bad")
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        if side.exists():
            env |= json.loads(side.read_text())
        script = [SCRIPTS / case.script, "--data", world, *case.argv]
        words: list[Any] = [sys.executable, "-m", "premortem"]
        if verb == "run":
            words += ["run", "--quiet", "--policy", "observe", "--findings", out, *script]
        elif verb == "check":
            words += ["check", "--no-rehearsal", "--quiet", "--findings", out, "--data", world, *script]
        else:
            words = [sys.executable, *script]
        (folder / "cwd").mkdir()
        began = time.time()
        done = starting.run(words, cwd=folder / "cwd", env=env, timeout=240)
        found = json.loads(out.read_text())["findings"] if out.exists() else []
        final = re.findall(r"final (\S+) (\S+)", done.stdout)
        return {
            "seconds": round(time.time() - began, 1),
            "final": final[-1] if final else None,
            "problem": "" if out.exists() or verb == "bare" else done.stderr[-200:],
            "findings": [
                {k: f[k] for k in ("code", "name", "family", "severity", "step")}
                | {
                    "message": f["message"].replace(name, ""),
                    "cause": (f.get("cause") or "").replace(name, ""),
                }
                for f in found
                if f["severity"] != "info"
            ],
        }


def is_named(case: Case, finding: dict[str, Any]) -> bool:
    """By its family, or, where the case has words for it, by what is said: which file, which column, what is wrong."""
    if case.says:
        return bool(re.search(case.says, f"{finding['message']} {finding['cause']}", re.IGNORECASE))
    return finding["family"] in {case.family, *case.near}


def judged(case: Case, good: dict[str, Any], bad: dict[str, Any]) -> dict[str, Any]:
    same = {f["code"] for f in good["findings"]}
    new = [f for f in bad["findings"] if f["code"] not in same]
    hits = [f for f in new if is_named(case, f)]
    loud = bad["findings"]
    top = next((f for f in loud if f["severity"] == "error"), loud[0] if loud else None)
    return {
        "named": bool(hits),
        "first": top in hits,
        "alarm": bool(good["findings"]),
        "good": good,
        "bad": bad,
    }


def written(chosen: list[Case], results: dict[str, Any], commit: str) -> None:
    """Of these cases, what was said now: beside the first counts, which stay as they were."""
    known = json.loads(RESULTS.read_text())
    if not commit:
        asked = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(asked, cwd=HOME, capture_output=True, text=True, check=True).stdout.strip()
    cases = {
        case.name: {"set": case.script.partition("/")[0], "closed": case.closed, "family": case.family}
        | {
            verb: {key: row[verb][key] for key in ("named", "first", "alarm")}
            | {"codes": [f["code"] for f in row[verb]["bad"]["findings"]]}
            for verb in ("run", "check")
            if verb in (row := results[case.name])
        }
        for case in chosen
    }
    known["again"] = {
        "measured": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "cases": cases,
    }
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", default="open", choices=("open", "closed", "all"))
    parser.add_argument("--only", default="")
    parser.add_argument("--verbs", default="check,run")
    parser.add_argument("--bad-only", action="store_true", help="quicker, while working on a detector")
    parser.add_argument(
        "--harm", action="store_true", help="only the metric of the script in both worlds, unwatched"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--jobs", type=int, default=1, help="cases side by side")
    parser.add_argument(
        "--write", action="store_true", help="into bench/results/worlds.json, for docs/worlds.md"
    )
    parser.add_argument("--commit", default="", help="to write down, where git is not there to be asked")
    options = parser.parse_args()
    chosen = [
        case
        for case in ALL.values()
        if any(word in case.name for word in options.only.split(","))
        and options.half in ("all", "closed" if case.closed else "open")
    ]
    results: dict[str, Any] = (
        json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    )
    lock = threading.Lock()

    def tried(case: Case) -> None:
        row = results.setdefault(case.name, {"closed": case.closed})
        for verb in ["bare"] if options.harm else options.verbs.split(","):
            bad = launch(case, "bad", verb)
            good = {"findings": [], "final": None} if options.bad_only else launch(case, "good", verb)
            if verb == "bare":
                row["harm"] = [good["final"], bad["final"]]
                print(case.name, good["final"], bad["final"], flush=True)
                continue
            row[verb] = judged(case, good, bad)
            mark = "FIRST" if row[verb]["first"] else "LATE " if row[verb]["named"] else "miss "
            said = [f"{f['code']} {f['family']}: {f['message'][:110]}" for f in bad["findings"][:3]]
            print(mark, verb, case.name, f"{bad['seconds']}s", *(said or []), bad["problem"], flush=True)
            if row[verb]["alarm"]:
                print(
                    "  ALARM",
                    verb,
                    case.name,
                    [(f["code"], f["message"]) for f in good["findings"]],
                    flush=True,
                )
        if options.json:
            with lock:
                options.json.write_text(json.dumps(dict(results), indent=1))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(tried, chosen))
    if options.write:
        written(chosen, results, options.commit)
    if not options.harm:
        done = [results[case.name] for case in chosen]
        for verb in ("run", "check", "either"):
            rows = [r for r in done if verb in r or (verb == "either" and "run" in r and "check" in r)]
            number = {
                key: sum(r[verb][key] if verb != "either" else r["run"][key] or r["check"][key] for r in rows)
                for key in ("named", "first", "alarm")
            }
            print(
                f"{verb}: named {number['named']}, first {number['first']} of {len(rows)}; alarms on good worlds {number['alarm']}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
