"""What it costs as a user meets it: `premortem run script` beside `python script`, whole processes, in turns.

    python bench/cost.py [--device cpu|cuda] [--rounds 3] [--steps 4000] [--only NAME ...] [--within BLOCKS] [--json FILE]

Every loop of `bench/cost_loops.py` is started with and without premortem, one after the other, `--rounds` times. Of
each the difference is taken at the same marks inside the loop:

    start-up    until the script's own code begins to build its model
    early       the first 1000 turns of the loop together
    late        one turn after the 2000th: the median over blocks of 100 turns; of a loop with fewer, the mean after the 200th
    memory      resident, at the end; and what it grew by since the 2000th turn

Time is the CPU time of the process (`--device cuda`: time on the clock, as the host waits for the device). A machine
that others use is noisy, so Python calls are counted as well, in processes of their own: they do not depend on load.
`--rounds 0` only counts. With `--within` the late turn is measured in one process
(`bench/cost_within.py`): two processes of one loop differ by up to a quarter of a turn on a GPU machine, ten times what is to be
measured; calls are not counted then. The functions whose calls are added most stand beside each count. `--profile` does neither: it
says which functions, those of C too, a late turn spends its added time in.
A GPU machine that has torch and nothing else runs this from a checkout: `PYTHONPATH=src python bench/cost.py`.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from cost_loops import BLOCK, LATE, LOOPS

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src"
EARLY = 1000  # turns
SETTLED = 200  # turns: from here on a loop may rest
FEW = {
    "gpt": 600,
    "gpt_compiled": 600,
    "lbfgs": 300,
    "compiled": 2600,
    "lightning": 3000,
    "accelerate": 3000,
    "trainer": 3000,
}  # long turns
COUNTED = {"early": (100, 400), "late": (2100, 3100)}
CLOSURES = {
    "early": (20, 60),
    "late": (200, 300),
}  # of LBFGS, whose turns are long, and twenty of them a step
MOST = 12  # functions that are named


class Process:
    """One start of a loop, and what it wrote down."""

    def __init__(
        self, loop: str, steps: int, device: str, *, watched: bool, count: str = "", profile: str = ""
    ) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "marks.json")
            environment = surroundings() | {"COST_OUT": str(out)}
            if count:
                environment["COST_COUNT"] = count
            if profile:
                environment["COST_PROFILE"] = profile
            command = [sys.executable, *(["-m", "premortem", "run"] if watched else [])]
            command += [str(HERE / "cost_loops.py"), loop, "--steps", str(steps), "--device", device]
            began = time.time()
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
            found = json.loads(out.read_text())
        self.calls: dict[str, dict[str, float]] = found["calls"]
        self.times: dict[str, float] = found["times"]
        self.turns: int = found["turns"]
        self.startup = found["marks"]["0"]["wall"] - began
        self._marks = {int(turn): mark for turn, mark in found["marks"].items()}
        self._clock = "wall" if device == "cuda" else "cpu"

    def seconds(self, first: int, last: int) -> float:
        return float(self._marks[last][self._clock] - self._marks[first][self._clock])

    def late(self) -> float:
        """One turn."""
        blocks = range(LATE, self.turns - BLOCK + 1, BLOCK)
        if not blocks:
            first = SETTLED if self.turns > 2 * SETTLED else 100
            return self.seconds(first, self.turns) / (self.turns - first)
        return statistics.median(self.seconds(first, first + BLOCK) / BLOCK for first in blocks)

    def memory(self, turn: int) -> float:
        return float(self._marks[turn]["rss"]) / 2**20


def surroundings() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}


def within(loop: str, device: str, blocks: int) -> dict[str, Any]:
    """A late turn, with and without premortem in one process."""
    command = [sys.executable, "-m", "premortem", "run", "--quiet", str(HERE / "cost_within.py"), loop]
    command += ["--device", device, "--blocks", str(blocks)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, cwd=folder, env=surroundings(), capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(loop: str, steps: int, device: str, rounds: int) -> dict[str, Any]:
    late = LATE if steps > LATE else 100
    pairs = [
        [Process(loop, steps, device, watched=watched) for watched in (False, True)] for _ in range(rounds)
    ]

    def added(what: Any) -> float:
        return statistics.median(what(watched) - what(bare) for bare, watched in pairs)

    def typical(what: Any, index: int) -> float:
        return statistics.median(what(pair[index]) for pair in pairs)

    result: dict[str, Any] = {
        "turn_us": round(typical(Process.late, 0) * 1e6),
        "late_added_us": round(added(Process.late) * 1e6),
        "late_added_us_all": [round((w.late() - b.late()) * 1e6) for b, w in pairs],
        "late_ratio": round(typical(Process.late, 1) / typical(Process.late, 0), 3),
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
        result["early_turns"] = 100
    return result


def counted(loop: str, device: str) -> dict[str, Any]:
    """Calls of Python functions that are added to a turn, and the functions that most of them are of."""
    spans = {
        name: f"{first}:{last}" for name, (first, last) in (CLOSURES if loop == "lbfgs" else COUNTED).items()
    }
    asked, turns = ",".join(spans.values()), max(last for _, last in COUNTED.values()) + 1
    turns = 301 if loop == "lbfgs" else turns
    with ThreadPoolExecutor(2) as pool:  # calls do not depend on load: both at once
        one = functools.partial(Process, loop, turns, device, count=asked)
        bare, watched = (found.calls for found in pool.map(lambda each: one(watched=each), (False, True)))
    result: dict[str, Any] = {}
    for name, span in spans.items():
        added = Counter(watched[span])
        added.subtract(bare[span])
        result[f"{name}_calls"] = round(sum(bare[span].values()))
        result[f"{name}_added_calls"] = round(sum(added.values()))
        result[f"{name}_added_by"] = {key: round(number, 2) for key, number in added.most_common(MOST)}
    return result


def profiled(loop: str, device: str) -> None:
    first, last = COUNTED["late"]
    bare, watched = (
        Counter(Process(loop, last + 1, device, watched=each, profile=f"{first}:{last}").times)
        for each in (False, True)
    )
    watched.subtract(bare)
    print(f"{loop}: {sum(watched.values()):.0f} us added to a turn under the profiler")
    for name, added in watched.most_common(2 * MOST):
        print(f"  {added:8.1f} us  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--only", nargs="*", choices=LOOPS, help="only these loops")
    parser.add_argument("--json", type=Path, help="results are added to those that are there")
    parser.add_argument("--jobs", type=int, default=1, help="loops at a time, where calls are only counted")
    parser.add_argument("--uncounted", action="store_true", help="without the calls")
    parser.add_argument(
        "--within", type=int, default=0, help="blocks of late turns that are compared in one process"
    )
    parser.add_argument(
        "--profile", action="store_true", help="where the time of a late turn goes, and nothing else"
    )
    options = parser.parse_args()
    if options.profile:
        for loop in options.only or LOOPS:
            profiled(loop, options.device)
        return
    machine = (
        torch.cuda.get_device_name()
        if options.device == "cuda"
        else platform.processor() or platform.machine()
    )
    result: dict[str, Any] = {
        "command": f"python bench/cost.py --device {options.device} --rounds {options.rounds} --steps {options.steps}"
        + (f" --within {options.within}" if options.within else ""),
        "machine": machine,
        "torch": torch.__version__,
        "loops": {},
    }
    if options.json and options.json.exists():
        result["loops"] = json.loads(options.json.read_text())["loops"]

    def one(loop: str) -> dict[str, Any]:
        steps = min(options.steps, FEW.get(loop, options.steps))
        try:
            found = measure(loop, steps, options.device, options.rounds) if options.rounds else {}
            if options.within:
                return found | within(loop, options.device, options.within)
            # Of turns that take tens of milliseconds nobody feels a call.
            uncounted = options.uncounted or loop.startswith("gpt")
            return found if uncounted else found | counted(loop, options.device)
        except RuntimeError as error:
            print(f"{loop}: not measured: {error}", file=sys.stderr)
            return {}

    loops = options.only or list(LOOPS)
    with ThreadPoolExecutor(1 if options.rounds else options.jobs) as pool:
        for loop, found in zip(loops, pool.map(one, loops), strict=True):
            if not found:
                continue
            result["loops"][loop] = {**result["loops"].get(loop, {}), **found}
            print(loop, json.dumps(found), flush=True)
            if options.json:  # after each loop: a machine may be lent for a limited time
                options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
