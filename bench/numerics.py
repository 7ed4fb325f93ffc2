"""How much of a planted set of numerics faults is detected and located: by the run alone, and with a replay by hand.

    python bench/numerics.py [--set planted|unseen] [--half open|closed] [--round 2] [--jobs 2] [--only TEXT] [--no-replay] [--json FILE]

`planted` are the scripts of tests/numerics/faults, which the project was built with. `unseen` are those of
tests/numerics/unseen, each with a healthy twin: they were written when the code they test was finished, and split by a hash
of their names. The open half was looked at afterwards, the closed half was only counted. A later round of them was written and
counted before the code was changed for it; "before" in the results is that count.

Run: what `premortem run` says when it ends, its own autopsy included. Replay: what `premortem replay` of the first capsule
adds. Op, line: of the operation that bore the first value that was not finite, right by the manifest. Alarm: a healthy twin
with an error or a warning.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.numerics.grade import Grade, cli, run  # noqa: E402 - from the checkout
from tests.numerics.manifest import entries, plain  # noqa: E402

UNSEEN = ROOT / "tests/numerics/unseen"


def unseen(half: str, number: int) -> list[dict[str, Any]]:
    found = json.loads((UNSEEN / "manifest.json").read_text(encoding="utf-8"))
    return [
        {
            **entry,
            "path": str(UNSEEN / "faults" / entry["file"]),
            "twin": str(UNSEEN / "healthy" / entry["file"]),
        }
        for entry in found
        if half in ("", entry["half"]) and number in (0, entry.get("round", 1))
    ]


def loud(findings: Path) -> list[dict[str, Any]]:
    said = json.loads(findings.read_text())["findings"] if findings.exists() else []
    return [f for f in said if f["severity"] in ("error", "warning")]


def examine(entry: dict[str, Any], replays: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(Path(entry["path"]), folder, "protect")
        said = loud(folder / "findings.json")
        capsules = sorted(
            folder.glob(".premortem/runs/*/capsules/step-*"), key=lambda path: int(path.name[5:])
        )
        again: dict[str, Any] = {}
        if capsules and replays:
            cli(["replay", "--quick", "--json", str(folder / "r.json"), str(capsules[0])], folder)
            again = json.loads((folder / "r.json").read_text()) if (folder / "r.json").exists() else {}
    row: dict[str, Any] = {"file": entry["file"]}
    if "twin" in entry:
        with tempfile.TemporaryDirectory() as name:
            run(Path(entry["twin"]), Path(name), "protect")
            alarms = loud(Path(name, "findings.json"))
        row |= {"alarm": bool(alarms), "alarms": [f"{f['code']} {f['message'][:80]}" for f in alarms]}
    grade = Grade({"sample": None, "step": 0, **entry}, "", said)
    certificate = again.get("certificate") or {}
    lines = {entry["line"], *entry.get("also_lines", ())}
    ops = {plain(op) for op in entry["op"]}
    return row | {
        "detected": grade.found,
        "run_op": grade.op,
        "run_line": grade.line,
        "capsule": bool(capsules),
        "replay_op": grade.op or entry["stage"] == "data" or plain(certificate.get("op", "")) in ops,
        "replay_line": grade.line or entry["line"] is None or certificate.get("line") in lines,
        "bitwise": bool(again.get("bitwise")),
        "said": [f"{f['code']} line {f['where']['line']} op {f['evidence'].get('op')}" for f in said],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", default="planted", choices=["planted", "unseen"])
    parser.add_argument("--half", default="", choices=["", "open", "closed"])
    parser.add_argument("--round", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-replay", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    every = entries() if options.set == "planted" else unseen(options.half, options.round)
    chosen = [entry for entry in every if "stage" in entry and options.only in entry["file"]]
    look = functools.partial(examine, replays=not options.no_replay)
    rows = []
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for row in pool.imap(look, chosen):
            rows.append(row)
            print(row, flush=True)
    counts = {
        key: sum(row[key] for row in rows)
        for key, value in (rows or [{}])[0].items()
        if isinstance(value, bool)
    }
    print({"faults": len(rows), **counts})
    if options.json:
        found = {
            "set": options.set,
            "half": options.half,
            "faults": len(rows),
            "counts": counts,
            "rows": rows,
        }
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
