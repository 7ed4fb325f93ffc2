"""Run `premortem run` over the planted numerics faults and say what was late, missed, misnamed or a false alarm.

    python -m tests.numerics.grade [--only TEXT] [--policy protect] [--jobs 2] [--verbose]

Detected: an error or warning of a numerics family, at most two steps after the first non-finite value is born.
Op, line: its certificate names the operation and the line in the script. Sample: and the sample.
Alarm: a clean script with any error or warning.
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
from tests.numerics.manifest import entries, plain

PROMPT = 2  # steps between the birth of a non-finite value and the word about it
FAMILIES = {"numerics-nan", "numerics-overflow", "numerics-masked", "checkpoint", "exploding"}


class Grade(NamedTuple):
    entry: dict[str, Any]
    stderr: str
    loud: list[dict[str, Any]] | None  # errors and warnings; None when no findings file was written

    @property
    def planted(self) -> bool:
        return "stage" in self.entry

    @property
    def about_it(self) -> list[dict[str, Any]]:
        return [f for f in self.loud or () if f["family"] in FAMILIES]

    @property
    def detected(self) -> bool:
        """Not before it is born, and soon after. A loop with two optimizers steps twice as often."""
        patience = PROMPT * self.entry.get("optimizers", 1)
        last = self.entry["step"] + patience
        return any(self.entry["step"] - 1 <= f["step"] <= last for f in self.about_it)

    @property
    def found(self) -> bool:
        return bool(self.about_it)

    @property
    def op(self) -> bool:
        if self.entry["stage"] == "data":
            return any(f["evidence"].get("stage") == "data" for f in self.about_it)
        right = {plain(name) for name in self.entry["op"]}
        return any(plain(str(f["evidence"].get("op", ""))) in right for f in self.about_it)

    @property
    def line(self) -> bool:
        if self.entry["line"] is None:
            return self.found
        right = {self.entry["line"], *self.entry.get("also_lines", ())}
        here = Path(self.entry.get("source", self.entry["file"])).name
        return any(
            f["where"]["line"] in right and Path(f["where"]["file"] or "").name == here for f in self.about_it
        )

    @property
    def sample(self) -> bool | None:
        if self.entry["sample"] is None:
            return None
        return any(f["evidence"].get("rows") == [self.entry["sample"]] for f in self.about_it)

    @property
    def good(self) -> bool:
        if self.loud is None:
            return False
        return (self.detected and self.op and self.line) if self.planted else not self.loud

    def __str__(self) -> str:
        said = [
            f"{f['code']} {f['severity']} step {f['step']} line {f['where']['line']} "
            f"op {f['evidence'].get('op')} rows {f['evidence'].get('rows')}: {f['message'][:90]}"
            for f in self.loud or []
        ]
        if not self.planted:
            return f"{'ok   ' if self.good else 'ALARM'} {self.entry['file']} got {said}{self._crash()}"
        parts = {"detected": self.detected, "op": self.op, "line": self.line, "sample": self.sample}
        wrong = [name for name, right in parts.items() if right is False]
        word = "ok   " if self.good else "wrong" if self.found else "MISS "
        want = f"step {self.entry['step']} line {self.entry['line']} {'/'.join(self.entry['op'][:2])}"
        return f"{word} {self.entry['file']} {','.join(wrong)}; want {want}, got {said}{self._crash()}"

    def _crash(self) -> str:
        return f" no findings: {self.stderr[-300:]}" if self.loud is None else ""


def run(script: Path, folder: Path, policy: str) -> str:
    """`premortem run` on the script, in a process of its own; what it said on stderr."""
    return cli(
        ["run", "--quiet", "--policy", policy, "--findings", str(folder / "findings.json"), str(script)],
        folder,
    )


def cli(words: list[str], folder: Path) -> str:
    """A verb in a process of its own; what it said on stderr."""
    return starting.run([sys.executable, "-m", "premortem", *words], cwd=folder).stderr


def grade(entry: dict[str, Any], policy: str = "protect") -> Grade:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stderr = run(Path(entry["path"]), folder, policy)
        out = folder / "findings.json"
        findings = json.loads(out.read_text())["findings"] if out.exists() else None
    loud = None if findings is None else [f for f in findings if f["severity"] in ("error", "warning")]
    return Grade(entry, stderr, loud)


def _graded(task: tuple[dict[str, Any], str]) -> Grade:
    return grade(*task)


def _count(grades: list[Grade], part: str) -> str:
    asked = [getattr(g, part) for g in grades if getattr(g, part) is not None]
    return f"{part} {sum(asked)}/{len(asked)}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--policy", default="protect", choices=["protect", "observe", "strict"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    grades = []
    tasks = [(entry, options.policy) for entry in entries(options.only)]
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for each in pool.imap(_graded, tasks):
            grades.append(each)
            if options.verbose or not each.good:
                print(each, flush=True)
    planted = [g for g in grades if g.planted]
    clean = [g for g in grades if not g.planted]
    parts = ", ".join(_count(planted, part) for part in ("found", "detected", "op", "line", "sample"))
    alarms = f"false alarms {sum(bool(g.loud) for g in clean)}/{len(clean)}"
    print(f"{parts}, {alarms}, no findings file {sum(g.loud is None for g in grades)}")
    return 0 if all(g.good for g in grades) else 1


if __name__ == "__main__":
    sys.exit(main())
