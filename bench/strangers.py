"""How right `premortem run` is about scripts by people who have never read premortem.

    python bench/strangers.py FOLDER [--half open|closed] [--verbs run check] [--jobs 2] [--only TEXT] [--json FILE]
    python bench/strangers.py FOLDER --record "bugs that others had reported" [--note TEXT]

What a folder holds says what is counted:

    reported   manifest.json: file, set (buggy, fixed), category, near. Named first: the first error (else the first warning) is of
               one of these families. Alarm: a fixed script with an error or a warning.
    numerics   the same, with the lines and ops of the operation that bore the first value that was not finite. Right: one finding
               has the line, and one the operation.
    worlds     NAME/train.py and NAME/make.py OUT --good|--bad; manifest.json: name, category, near. The script is right, and the same in
               both. Named: the bad world is reported in one of these families, and the good one is not. Alarm: a good world with an
               error or a warning.
    healthy    right scripts and no manifest. Alarm: an error or a warning.

Each script is a process of its own, started as a user starts it, in an empty folder. `--record` adds the numbers, the date and the commit to
bench/results/strangers.json, from which the pages are written: a set is recorded once, before anybody repairs what it shows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.split import half_of, opened_by  # noqa: E402 - from the checkout
from tests.numerics.manifest import plain  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "strangers.json"
LIMIT = 240.0  # seconds: what takes longer is broken
Finding = dict[str, Any]
Row = dict[str, Any]


def loud(verb: str, script: Path, *words: str, environment: Mapping[str, str] | None = None) -> list[Finding]:
    """The errors and warnings of one verb about one script. Raises RuntimeError where it leaves no findings file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "findings.json")
        options = ["--quiet", "--findings", str(out)]
        if verb == "check" and "--data" in words:
            options += ["--data", words[words.index("--data") + 1]]
        work = Path(folder, "work")
        work.mkdir()
        command = [sys.executable, "-m", "premortem", verb, *options, str(script), *words]
        done = subprocess.run(
            command,
            cwd=work,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        if not out.exists():
            raise RuntimeError(f"{' '.join(command)} left no findings: {done.stderr[-500:]}")
        found = json.loads(out.read_text())["findings"]
    return [finding for finding in found if finding["severity"] in {"error", "warning"}]


def headings(found: list[Finding]) -> list[str]:
    return [
        f"{f['code']} {f['family']} {f['severity']} line {f['where']['line']} op {f['evidence'].get('op')}: {f['message'][:120]}"
        for f in found
    ]


def first(found: list[Finding]) -> Finding | None:
    return next((f for f in found if f["severity"] == "error"), found[0] if found else None)


def families(entry: Row) -> set[str]:
    return {entry["category"], *entry.get("near", ())}


def healthy(script: Path) -> Row:
    found = loud("run", script)
    return {"name": script.name, "alarm": bool(found), "alarms": headings(found)}


def reported(folder: Path, entry: Row) -> Row:
    if entry["set"] != "buggy":
        return healthy(folder / entry["file"])
    found = loud("run", folder / entry["file"])
    about = [f for f in found if f["family"] in families(entry)]
    row = {"name": entry["file"], "found": bool(about), "first": first(found) in about}
    if "ops" in entry:
        row |= {
            "line": any(f["where"]["line"] in entry["lines"] for f in about),
            "op": any(
                plain(str(f["evidence"].get("op"))) in {plain(op) for op in entry["ops"]} for f in about
            ),
        }
        row["right"] = row["line"] and row["op"]
    return row | {"seen": headings(found)}


def world(folder: Path, entry: Row, verbs: list[str]) -> Row:
    """Both worlds under each verb."""
    seen: dict[str, dict[str, list[Finding]]] = {verb: {} for verb in verbs}
    for kind in ("good", "bad"):
        with tempfile.TemporaryDirectory() as place:
            data, beside = Path(place, "world"), Path(place, "world.env.json")
            case = folder / entry["name"]
            subprocess.run([sys.executable, str(case / "make.py"), str(data), f"--{kind}"], check=True)
            environment = json.loads(beside.read_text()) if beside.exists() else {}
            for verb in verbs:
                seen[verb][kind] = loud(verb, case / "train.py", "--data", str(data), environment=environment)
    row: Row = {"name": entry["name"], "named": False, "first": False, "alarm": False}
    for verb, found in seen.items():
        known = {f["code"] for f in found["good"]}
        about = [f for f in found["bad"] if f["family"] in families(entry) and f["code"] not in known]
        row["named"] |= bool(about)
        row["first"] |= first(found["bad"]) in about
        row["alarm"] |= bool(found["good"])
        row |= {f"{verb} bad": headings(found["bad"]), f"{verb} good": headings(found["good"])}
    return row


def tasks(folder: Path, options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Row]]]:
    """What is to be graded, by name; both scripts of a pair are in the same half."""
    manifest = folder / "manifest.json"
    if not manifest.exists():
        for script in sorted(folder.glob("*.py")):
            yield script.name, lambda script=script: healthy(script)  # type: ignore[misc]
        return
    for entry in json.loads(manifest.read_text(encoding="utf-8")):
        if "file" in entry:
            yield Path(entry["file"]).name, lambda entry=entry: reported(folder, entry)  # type: ignore[misc]
        else:
            yield entry["name"], lambda entry=entry: world(folder, entry, options.verbs)  # type: ignore[misc]


def graded(name: str, task: Callable[[], Row]) -> Row:
    try:
        return task()
    except (RuntimeError, subprocess.SubprocessError) as error:
        return {"name": name, "broke": str(error)}


def counted(rows: list[Row]) -> dict[str, int]:
    """How many of those that can be right were, and how many of those that are right were accused."""
    found: dict[str, int] = {}
    for key in ("first", "found", "named", "line", "op", "right"):
        asked = [row[key] for row in rows if key in row]
        if asked:
            found |= {"faults": len(asked), key: sum(asked)}
    asked = [row["alarm"] for row in rows if "alarm" in row]
    broke = sum("broke" in row for row in rows)
    return found | {"healthy": len(asked), "alarms": sum(asked)} | ({"broke": broke} if broke else {})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", default="", choices=["", "open", "closed"])
    parser.add_argument("--verbs", nargs="+", default=["run"], choices=["run", "check"], help="for worlds")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--record", help="what the set is, on the pages")
    parser.add_argument("--note", default="", help="what else a reader of the pages must know")
    options = parser.parse_args()
    when = opened_by()
    chosen = [
        (name, task)
        for name, task in tasks(options.folder.resolve(), options)
        if options.only in name and options.half in ("", half_of(Path(name).stem))
    ]
    rows = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda task: graded(*task), chosen):
            rows.append(row)
            print(json.dumps(row), flush=True)
    counts = counted(rows)
    print(json.dumps(counts))
    if options.json:
        options.json.write_text(json.dumps({**when, "counts": counts, "rows": rows}, indent=1) + "\n")
    if options.record:
        recorded = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
        entry = {"set": options.record, **when, "half": options.half, **counts, "note": options.note}
        RESULTS.write_text(json.dumps([*recorded, entry], indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
