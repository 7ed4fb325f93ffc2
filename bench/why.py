"""How often `premortem why` names the cause first, beside `premortem run` alone, on the same scripts.

    python bench/why.py [--sets planted,twins,exam,forum,casebook,mutants,healthy,wild,strangers] [--part open|closed|all]
                        [--only TEXT] [--minutes 2] [--jobs 1] [--most N] [--seed 1] [--shared FOLDER] [--wild FOLDER]
                        [--strangers FOLDER]… [--gpu] [--out FILE] [--made] [--missing] [--seconds N] [--table]

A script is judged by the family of the first thing that is said about it. Half of the set is closed, by a hash of the
script's name: look at the open half, and measure on both. `--shared` is the folder with `exam/`, where it is at hand.
`--wild` is one that `bench/wild/run.py --export` has made; `--strangers` has healthy scripts of people who never saw premortem. Each script has two cores; with `--gpu` it may use the GPU too.
Each script is written when it is done; `--missing` leaves out those that are there; after `--seconds` no other script is begun; `--table` only prints the table.
Several of them may run side by side, each with its own `--out`, and `--made` where one has made the casebook's data (`--most 0`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from why_cases import ROOT, SETS, Case, cases, in_order, make_data
from why_lost import LEAST, lost

RESULTS = ROOT / "bench" / "results" / "why.json"
ALONE = {"OMP_NUM_THREADS": "1"}  # many of them run side by side
CORES = 2  # of each
PATIENCE = 60.0  # seconds for a verb, besides one and a half times its minutes
HARMLESS = "harmless"  # a planted mistake that costs nothing here
HEAD = (
    "set       part    faults  first by run  first by why  proved  healthy  accused by run  by why  "
    "not known  seconds  trials"
)


def measured(case: Case, minutes: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        words = case.staged(folder)

        def at(words: Sequence[str]) -> Path:
            return Path(words[0]).parent if case.wild else Path(folder)

        cost = None
        if case.costs:
            cost = lost(
                case.words, partial(case.healthy, folder), words, minutes, at, same_loss=case.same_loss
            )
            if cost is None or cost < LEAST:
                return {
                    "set": case.set,
                    "part": case.part,
                    "right": list(case.right),
                    "lost": cost,
                    "verdict": HARMLESS,
                }
        limit = (
            PATIENCE + 90 * minutes
        )  # a `why` may take a little longer than it is given: it repeats what helped
        ran = _run(["run", "--quiet", "--policy", "observe"], "--findings", words, at(words), limit)
        began = time.monotonic()
        said = _run(["why", "--quiet", "--minutes", str(minutes)], "--json", words, at(words), limit)
        seconds = time.monotonic() - began
    loud = [each for each in ran.get("findings", ()) if each["severity"] in {"error", "warning"}]
    first = next((each for each in loud if each["severity"] == "error"), loud[0] if loud else None)
    causes = said.get("causes", [])
    return {
        "set": case.set,
        "part": case.part,
        "right": list(case.right),
        "lost": cost,
        "run": first["family"] if first else None,
        "why": causes[0]["family"] if causes else None,
        "cause": {key: causes[0][key] for key in ("code", "name", "certainty", "change")} if causes else None,
        "verdict": said.get("verdict", "none"),
        "message": said.get("message", ""),
        "as_is": (said.get("as_is") or {}).get("sentence", ""),
        "patch": bool(said.get("patch") and said["patch"]["verified"]),
        "trials": [_trial(each) for each in said.get("trials", ()) if each["verdict"] != "skipped"],
        "seconds": round(seconds, 1),
        "minutes": minutes,
    }


def _two_cores(slot: int) -> None:
    """For this thread and all that it starts."""
    if hasattr(os, "sched_setaffinity"):
        there = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {there[(CORES * slot + each) % len(there)] for each in range(CORES)})


def _trial(trial: dict[str, Any]) -> str:
    """For whoever looks at a case that went wrong."""
    numbers = [trial[key] for key in ("as_is", "changed")]
    shown = " → ".join("?" if each is None else f"{each:.3g}" for each in numbers)
    again = ", ".join(f"{each:.2f}" for each in trial["again"])
    return f"{trial['change']}: {trial['verdict']} {trial['metric']} {shown} [{again}] {trial['why']}".strip()


def _run(verb: list[str], option: str, words: tuple[str, ...], folder: Path, limit: float) -> dict[str, Any]:
    file = folder / f".{verb[0]}.json"
    command = [sys.executable, "-m", "premortem", *verb, option, str(file), *words]
    try:
        subprocess.run(
            command, cwd=folder, env={**os.environ, **ALONE}, capture_output=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {}
    said: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return said


def table(rows: dict[str, dict[str, Any]]) -> str:
    lines = [HEAD]
    rows = {name: row for name, row in rows.items() if row["verdict"] != HARMLESS}
    for name in (*sorted({row["set"] for row in rows.values()}), "all"):
        for half in ("open", "closed", "all"):
            some = [r for r in rows.values() if name in {r["set"], "all"} and half in {r["part"], "all"}]
            lines += [_line(name, half, some)] if some else []
    return "\n".join(lines)


def _line(name: str, half: str, some: list[dict[str, Any]]) -> str:
    faults, healthy = [r for r in some if r["right"]], [r for r in some if not r["right"]]
    run, why = (sum(r[who] in r["right"] for r in faults) for who in ("run", "why"))
    proved = sum(r["why"] in r["right"] and r["cause"]["certainty"] == "proved" for r in faults)
    accused = [sum(r[who] is not None for r in healthy) for who in ("run", "why")]
    unknown = sum(r["verdict"] not in {"cause", "healthy"} for r in some)
    seconds = statistics.median(r["seconds"] for r in some)
    trials = statistics.median(len(r["trials"]) for r in some)
    return (
        f"{name:<9} {half:<7} {len(faults):>6}  {run:>12}  {why:>12}  {proved:>6}  {len(healthy):>7}  "
        f"{accused[0]:>14}  {accused[1]:>6}  {unknown:>9}  {seconds:>7.0f}  {trials:>6.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sets", default=",".join(SETS))
    add("--part", choices=("open", "closed", "all"), default="all")
    add("--only", default="")
    add("--minutes", type=float, default=2.0)
    add("--jobs", type=int, default=1)
    add("--most", type=int, default=10_000)
    add("--seed", type=int, default=1)
    add("--shared", type=Path)
    add("--wild", type=Path)
    add("--strangers", type=Path, action="append", default=[])
    add("--gpu", action="store_true")
    add("--out", type=Path, default=RESULTS)
    add("--made", action="store_true")
    add("--missing", action="store_true")
    add("--seconds", type=float, default=math.inf)
    add("--table", action="store_true")
    options = parser.parse_args()
    result = json.loads(options.out.read_text()) if options.out.exists() else {"scripts": {}}
    rows = result["scripts"]
    shared = (
        options.shared.resolve() if options.shared else None
    )  # each script has a folder of its own to run in
    wild = options.wild.resolve() if options.wild else None
    strangers = [folder.resolve() for folder in options.strangers]
    chosen = [each for each in cases(shared, wild, strangers) if each.set in options.sets.split(",")]
    chosen = [each for each in chosen if options.only in each.name and options.part in {"all", each.part}]
    known = {name for name, row in rows.items() if row["verdict"] != "none"} if options.missing else set()
    chosen = [each for each in chosen if each.name not in known]
    wanted = [] if options.table else in_order(chosen, options.seed)
    chosen = wanted[: options.most]
    if not options.made:
        make_data(wanted if options.most == 0 else chosen)
    if not options.gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    slots = itertools.count()
    pool = ThreadPoolExecutor(options.jobs, initializer=lambda: _two_cores(next(slots)))
    waiting = {pool.submit(measured, each, options.minutes): each for each in chosen}
    began = time.monotonic()
    for done in as_completed(waiting):
        if time.monotonic() - began > options.seconds:
            pool.shutdown(wait=False, cancel_futures=True)
        if done.cancelled():
            continue
        case = waiting[done]
        if done.exception() is not None:  # of one script: the others go on
            print(case.name if case.part == "open" else "a closed script", repr(done.exception()), flush=True)
            continue
        rows[case.name] = row = done.result()
        if case.part == "open":  # whoever tunes sees nothing of the closed half but its count
            said = [row.get(key) for key in ("lost", "right", "run", "why", "verdict", "seconds")]
            print(case.name, *said, flush=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        result["scripts"] = dict(sorted(rows.items()))
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
