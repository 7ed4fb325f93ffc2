"""Run `premortem run` over the twin scripts beside this file and say what was missed and every false alarm.

    python -m tests.twins.grade [--only TEXT] [--jobs 2] [--verbose]

Found: some error or warning has the script's family. First: the first error (else the first finding) has it.
Alarm: a healthy script with any error or warning.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tests import starting

HERE = Path(__file__).resolve().parent


class Grade(NamedTuple):
    entry: dict[str, Any]
    code: int
    stderr: str
    loud: list[dict[str, Any]] | None  # errors and warnings; None when no findings file was written

    @property
    def buggy(self) -> bool:
        return bool(self.entry["set"] == "buggy")

    @property
    def wanted(self) -> set[str]:
        return {self.entry["category"], *self.entry.get("also", ())}

    @property
    def found(self) -> bool:
        return any(f["family"] in self.wanted for f in self.loud or ())

    @property
    def first(self) -> bool:
        loud = self.loud or []
        top = next((f for f in loud if f["severity"] == "error"), loud[0] if loud else None)
        return top is not None and top["family"] in self.wanted

    @property
    def good(self) -> bool:
        return self.loud is not None and (self.first if self.buggy else not self.loud)

    def __str__(self) -> str:
        word = "ok   " if self.good else ("LATE " if self.found else "MISS ") if self.buggy else "ALARM"
        said = [
            f"{f['code']} {f['family']} {f['severity']} {f['where']['line'] or ''} {f['message']}"[:150]
            for f in self.loud or []
        ]
        want = f" want {self.entry['category']}" if self.buggy else ""
        return f"{word} {self.entry['file']}{want} got {said}" + (
            f" {self.stderr[-300:]}" if self.loud is None else ""
        )


def entries(only: str = "", folder: Path = HERE) -> list[dict[str, Any]]:
    found = [
        {**e, "path": str(folder / e["file"])}
        for path in sorted(folder.glob("manifest*.json"))
        for e in json.loads(path.read_text())
    ]
    return [e for e in found if only in e["file"] or only == e["category"]]


def run(script: Path, folder: Path, policy: str) -> tuple[int, str]:
    """`premortem run` on the script, in a process of its own; exit code and what it said on stderr."""
    command = [sys.executable, "-m", "premortem", "run", "--quiet", "--policy", policy]
    done = starting.run([*command, "--findings", folder / "findings.json", script], cwd=folder)
    return done.returncode, done.stderr


def grade(entry: dict[str, Any], policy: str = "observe") -> Grade:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code, stderr = run(Path(entry["path"]), folder, policy)
        out = folder / "findings.json"
        findings = json.loads(out.read_text())["findings"] if out.exists() else None
    loud = None if findings is None else [f for f in findings if f["severity"] in ("error", "warning")]
    return Grade(entry, code, stderr, loud)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=Path, default=HERE, help="another folder with manifest*.json")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    grades = []
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for each in pool.imap(grade, entries(options.only, options.folder.resolve())):
            grades.append(each)
            if options.verbose or not each.good:
                print(each, flush=True)
    buggy = [g for g in grades if g.buggy]
    healthy = [g for g in grades if not g.buggy]
    print(
        f"found {sum(g.found for g in buggy)}/{len(buggy)}, first {sum(g.first for g in buggy)}/{len(buggy)}, "
        f"false alarms {sum(bool(g.loud) for g in healthy)}/{len(healthy)}, "
        f"no findings file {sum(g.loud is None for g in grades)}"
    )
    return 0 if all(g.good for g in grades) else 1


if __name__ == "__main__":
    sys.exit(main())
