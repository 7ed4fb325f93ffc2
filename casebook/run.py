"""Run every case of the casebook through premortem, healthy and with each of its faults, and print the table.

python casebook/run.py [--only ris[,I1,I3]] [--missing] [--quick] [--json FILE]
python casebook/run.py --gpu --json bench/results/casebook-gpu.json

Detected: premortem said an error or a warning. Right: the first one is of the family that the story expects.
In time: it was said at the moment the story asks for. Recovered: the run ended well, at about the healthy quality.
All runs are at the scale of `python train.py`, to their end or to where premortem stops them. Each row is written when
it is known; after an interruption `--missing` goes on, and keeps the rows that come from the same code.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from common.faults import ids, story
from rows import code_of, line, read, row, write
from verbs import Question, ask

RESULTS = HERE.parent / "bench" / "results" / "casebook.json"
Row = dict[str, Any]


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


def examine(
    case: Path, faults: list[str], folder: Path, arguments: list[str], kept: dict[str, Row]
) -> Iterator[Row]:
    """The healthy run first: what it reaches is what the others are measured by."""
    healthy = kept.get("healthy") or _healthy(case, folder, arguments)
    yield healthy
    for fault in faults:
        if fault in kept:
            yield kept[fault]
            continue
        question = Question(case, fault, folder / case.name / fault, arguments)
        yield row(case, fault, ask(story(case, fault)["verb"], question), healthy)


def _healthy(case: Path, folder: Path, arguments: list[str]) -> Row:
    answer = ask("run", Question(case, None, folder / case.name / "healthy", arguments))
    answer.findings += ask("lint", Question(case, None, folder / case.name / "lint", [])).findings
    told = row(case, None, answer, None)
    if "quality" not in told:
        raise SystemExit(f"the healthy {case.name} did not come to its end:\n{answer.output}")
    return told


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="casebook", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="CASE[,ID...]")
    parser.add_argument(
        "--missing", action="store_true", help="keep the rows of the file that come from the same code"
    )
    parser.add_argument("--quick", action="store_true", help="less data and fewer epochs")
    parser.add_argument("--gpu", action="store_true", help="only the healthy runs, at --scale gpu")
    parser.add_argument("--json", type=Path, help=f"where the rows go (default, for whole runs: {RESULTS})")
    parser.add_argument("--keep", type=Path, help="keep what the runs write here")
    options = parser.parse_args()
    target = options.json or (None if options.only or options.quick or options.gpu else RESULTS)
    chosen = cases(options.only)
    if options.gpu:
        chosen = {case: [] for case in chosen}
    codes = {case.name: code_of(case) for case in chosen}
    before = read(target, quick=options.quick) if target and options.missing else []
    before = [told for told in before if codes.get(told["case"]) == told.get("code")]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)).resolve()
        for case, faults in chosen.items():
            kept = {told["id"]: told for told in before if told["case"] == case.name}
            arguments = quick_arguments(case) if options.quick else ["--scale", "gpu"] if options.gpu else []
            for told in examine(case, faults, folder, arguments, kept):
                rows.append({**told, "code": codes[case.name]})
                print(line(told), flush=True)
                if target:  # with what is kept and not reached yet: the next interruption must not lose it
                    known = {(each["case"], each["id"]) for each in rows}
                    later = [each for each in before if (each["case"], each["id"]) not in known]
                    write(target, rows + later, quick=options.quick)
    faulty = [told for told in rows if told["id"] != "healthy"]
    alarms = sum(bool(told["said"]) for told in rows if told["id"] == "healthy")
    green = sum(told["green"] for told in faulty)
    print(
        f"{green} of {len(faulty)} faults green, {alarms} false alarms on {len(rows) - len(faulty)} healthy runs"
    )
    return 0 if green == len(faulty) and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
