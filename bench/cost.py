"""What it costs as a user meets it: `premortem run script` beside `python script`, whole processes, in turns.

    python bench/cost.py [--device cpu|cuda] [--rounds 3] [--steps 4000] [--only NAME ...] [--json FILE]

Every loop of `bench/cost_loops.py` is started with and without premortem, one after the other, `--rounds` times. Of
each the difference is taken at the same marks inside the loop:

    start-up    until the script's own code begins to build its model
    early       the first 1000 turns of the loop together
    late        one turn after the 2000th
    memory      resident, at the end; and what it grew by since the 2000th turn

Time is the CPU time of the process (`--device cuda`: time on the clock, as the host waits for the device). A machine
that others use is noisy, so Python calls are counted as well, in processes of their own: they do not depend on load.
A GPU machine that has torch and nothing else runs this from a checkout: `PYTHONPATH=src python bench/cost.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from cost_loops import LOOPS

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src"
EARLY, LATE = 1000, 2000  # turns
FEW = {"lbfgs": 300, "compiled": 2600, "lightning": 3000, "accelerate": 3000, "trainer": 3000}  # long turns
COUNTED = {"early": (100, 400), "late": (2100, 2400)}


class Process:
    """One start of a loop, and what it wrote down."""

    def __init__(
        self, loop: str, steps: int, device: str, *, watched: bool, count: tuple[int, int] | None = None
    ) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "marks.json")
            environment = {**os.environ, "COST_OUT": str(out), "OMP_NUM_THREADS": "1"}
            environment["PYTHONPATH"] = os.pathsep.join(
                filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")])
            )
            environment["PYTHONDONTWRITEBYTECODE"] = ""
            if count is not None:
                environment["COST_COUNT"] = f"{count[0]}:{count[1]}"
            command = [sys.executable, *(["-m", "premortem", "run"] if watched else [])]
            command += [str(HERE / "cost_loops.py"), loop, "--steps", str(steps), "--device", device]
            began = time.time()
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
            found = json.loads(out.read_text())
        self.calls: float | None = found["calls"]
        self.turns: int = found["turns"]
        self.startup = found["marks"]["0"]["wall"] - began
        self._marks = {int(turn): mark for turn, mark in found["marks"].items()}
        self._clock = "wall" if device == "cuda" else "cpu"

    def seconds(self, first: int, last: int) -> float:
        return float(self._marks[last][self._clock] - self._marks[first][self._clock])

    def memory(self, turn: int) -> float:
        return float(self._marks[turn]["rss"]) / 2**20


def measure(loop: str, steps: int, device: str, rounds: int) -> dict[str, Any]:
    late = LATE if steps > LATE else 100
    pairs = [
        [Process(loop, steps, device, watched=watched) for watched in (False, True)] for _ in range(rounds)
    ]

    def added(what: Any) -> float:
        return statistics.median(what(watched) - what(bare) for bare, watched in pairs)

    def typical(what: Any, index: int) -> float:
        return statistics.median(what(pair[index]) for pair in pairs)

    def turn(process: Process) -> float:
        return process.seconds(late, process.turns) / (process.turns - late)

    result: dict[str, Any] = {
        "turn_us": round(typical(turn, 0) * 1e6),
        "late_added_us": round(added(turn) * 1e6),
        "late_added_us_all": [round((turn(w) - turn(b)) * 1e6) for b, w in pairs],
        "late_ratio": round(typical(turn, 1) / typical(turn, 0), 3),
        "startup_added_s": round(added(lambda process: process.startup), 2),
        "memory_added_mib": round(added(lambda process: process.memory(process.turns)), 1),
        "growth_added_mib": round(
            added(lambda process: process.memory(process.turns) - process.memory(late)), 1
        ),
    }
    if steps >= EARLY:
        result["early_added_s"] = round(added(lambda process: process.seconds(0, EARLY)), 2)
    else:
        result["early_added_s"] = round(added(lambda process: process.seconds(0, 100)), 2)
    for name, (first, last) in COUNTED.items():
        if last <= steps:
            counts = [
                Process(loop, last + 1, device, watched=watched, count=(first, last)).calls or 0.0
                for watched in (False, True)
            ]
            result[f"{name}_added_calls"] = round(counts[1] - counts[0])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--only", nargs="*", choices=LOOPS, help="only these loops")
    parser.add_argument("--json", type=Path, help="results are added to those that are there")
    options = parser.parse_args()
    machine = (
        torch.cuda.get_device_name()
        if options.device == "cuda"
        else platform.processor() or platform.machine()
    )
    result: dict[str, Any] = {
        "command": f"python bench/cost.py --device {options.device} --rounds {options.rounds} --steps {options.steps}",
        "machine": machine,
        "torch": torch.__version__,
        "loops": {},
    }
    if options.json and options.json.exists():
        result["loops"] = json.loads(options.json.read_text())["loops"]
    for loop in options.only or LOOPS:
        steps = min(options.steps, FEW.get(loop, options.steps))
        try:
            result["loops"][loop] = found = measure(loop, steps, options.device, options.rounds)
        except RuntimeError as error:
            print(f"{loop}: not measured: {error}", file=sys.stderr)
            continue
        print(loop, json.dumps(found), flush=True)
        if options.json:  # after each loop: a machine may be lent for a limited time
            options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
