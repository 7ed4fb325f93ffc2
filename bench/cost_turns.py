"""What a late turn of a loop costs: whole processes, `python` and `premortem run`, that train in turns of a few hundred milliseconds.

    python bench/cost_turns.py [--device cuda] [--seconds 280] [--only NAME ...] [--json FILE]

All processes are started at once, and each trains until it is far in its loop. Then one after the other trains a block of turns, round
after round, while all others wait, so that bare and watched turns are from the same second of the machine. A
process takes its place in memory once and for all, and two of the same loop differ by that: there are several of each kind, and what is
compared is their mean in a round. The clock that premortem asks stands still while a process waits, so that it looks into as many
turns as in a run of its own. Of each loop:

    turn_us           a bare turn: the time until the host is free for the next one, without waiting for the device
    added_us          what a watched one takes more: the median over rounds of the difference of the means; full looks count
    spread_us         half of the distance between the quartiles of these differences
    typical_added_us  the same of each block's median turn, in which hardly any full look counts
    whole_added_us    like added_us, with the device waited for at the end of each block
"""

from __future__ import annotations

import argparse
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# loop: (processes of each kind, turns before it is measured, turns in a block, rounds)
PLAN = {
    "deep": (3, 2000, 100, 14),
    "deep_default": (3, 2000, 100, 14),
    "scaler": (3, 2000, 100, 14),
    "plain": (3, 2000, 100, 14),
    "gpt": (2, 220, 20, 10),
    "gpt_compiled": (1, 220, 20, 10),
}


class Block:
    """In the process that trains: waits to be asked for turns, and answers with how long each took."""

    def __init__(self, loop: str, device: str, answers: int) -> None:
        import torch

        self._first = PLAN[loop][1]
        self._answers = answers
        self._sync = torch.cuda.synchronize if device == "cuda" else lambda: None
        self._now, waited = time.perf_counter, [0.0]
        now = self._now
        time.perf_counter = lambda: now() - waited[0]
        self._waited = waited
        self._turns = 0
        self._left = 0
        self._times: list[float] = []

    def tick(self) -> None:
        moment = self._now()
        self._turns += 1
        if self._turns < self._first:
            return
        if self._left:
            self._times.append(moment)
            self._left -= 1
        if not self._left:
            self._sync()
            if self._times:
                self._times.append(self._now())
            self._answer()

    def _answer(self) -> None:
        began = self._now()
        os.write(self._answers, (json.dumps(self._times) + "\n").encode())
        asked = sys.stdin.readline()
        if not asked.strip():
            os._exit(0)  # the last words are no part of this
        self._left = int(asked)
        self._sync()
        self._waited[0] += self._now() - began
        self._times = [self._now()]


def train(loop: str, device: str, answers: int) -> None:
    import cost_loops
    import torch

    torch.manual_seed(0)
    cost_loops.DEVICE = device
    block = Block(loop, device, answers)
    cost_loops.tick = block.tick
    cost_loops.LOOPS[loop](1 << 30)


class Trainer:
    """One such process, seen from outside."""

    def __init__(self, loop: str, device: str, folder: Path, *, watched: bool) -> None:
        self.loop, self.watched = loop, watched
        mine, theirs = os.pipe()
        self._answers = os.fdopen(mine, "rb")
        command = [sys.executable, *(["-m", "premortem", "run", "--quiet"] if watched else [])]
        command += [
            str(HERE / "cost_turns.py"),
            "--train",
            loop,
            "--device",
            device,
            "--answers",
            str(theirs),
        ]
        self.log = folder / f"{loop}-{'watched' if watched else 'bare'}-{theirs}.txt"
        path = os.pathsep.join(
            filter(None, [str(HERE.parent / "src"), str(HERE), os.environ.get("PYTHONPATH")])
        )
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=[theirs],
                cwd=folder,
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path},
            )
        os.close(theirs)

    def answer(self, seconds: float) -> list[float] | None:
        """None where none came in time."""
        ready, _, _ = select.select([self._answers], [], [], max(seconds, 0))
        line = self._answers.readline() if ready else b""
        return json.loads(line) if line else None

    def turns(self, number: int, seconds: float) -> list[float]:
        stdin = self.process.stdin
        assert stdin is not None
        stdin.write(f"{number}\n".encode())
        stdin.flush()
        found = self.answer(seconds)
        if found is None:
            raise RuntimeError(f"{self.log.name}: no answer\n{self.log.read_text()[-1500:]}")
        return found

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def summed(times: list[float]) -> tuple[float, float, float]:
    """Microseconds of a turn: on average, the median, and on average with the device waited for."""
    *turns, whole = times
    each = [(later - earlier) * 1e6 for earlier, later in pairwise(turns)]
    return statistics.mean(each), statistics.median(each), (whole - turns[0]) * 1e6 / len(each)


def measured(trainers: list[Trainer], block: int, rounds: int, deadline: float) -> dict[str, Any]:
    every: list[list[tuple[float, float, float]]] = []
    for number in range(rounds + 1):
        if time.monotonic() > deadline:
            break
        row = [each.turns(block, 60) for each in trainers]
        if number:  # the first is for the caches
            every.append([summed(times) for times in row])
    if not every:
        return {}

    def difference(which: int) -> list[float]:
        def mean(row: list[tuple[float, float, float]], watched: bool) -> float:
            return statistics.mean(
                found[which] for each, found in zip(trainers, row, strict=True) if each.watched is watched
            )

        return [mean(row, True) - mean(row, False) for row in every]

    added = difference(0)
    low, _, high = statistics.quantiles(added, n=4) if len(added) > 1 else (added[0], 0.0, added[0])
    bare = statistics.median(
        found[0] for row in every for each, found in zip(trainers, row, strict=True) if not each.watched
    )
    return {
        "turn_us": round(bare),
        "added_us": round(statistics.median(added)),
        "spread_us": round((high - low) / 2),
        "typical_added_us": round(statistics.median(difference(1))),
        "whole_added_us": round(statistics.median(difference(2))),
        "ratio": round(1 + statistics.median(added) / bare, 3),
        "rounds": len(every),
        "processes": len(trainers),
        "of_each_process_us": {
            "watched" if watched else "bare": [
                round(statistics.median(row[place][0] for row in every))
                for place, each in enumerate(trainers)
                if each.watched is watched
            ]
            for watched in (False, True)
        },
        "added_us_all": [round(each) for each in added],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--seconds", type=float, default=280.0, help="for all of it")
    parser.add_argument("--only", nargs="*", choices=PLAN)
    parser.add_argument("--processes", type=int, help="of each kind")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--train", choices=PLAN, help=argparse.SUPPRESS)
    parser.add_argument("--answers", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        train(options.train, options.device, options.answers)
        return
    began = time.monotonic()
    loops = options.only or list(PLAN)
    result: dict[str, Any] = {"command": f"python bench/cost_turns.py --device {options.device}", "loops": {}}
    with tempfile.TemporaryDirectory() as folder:
        trainers = {
            loop: [
                Trainer(loop, options.device, Path(folder), watched=watched)
                for _ in range(options.processes or PLAN[loop][0])
                for watched in (False, True)
            ]
            for loop in loops
        }
        try:
            # The compiled one last, and only if it is ready by then: what compiles disturbs what is measured.
            for loop in loops:
                for each in trainers[loop]:
                    left = options.seconds * 0.6 - (time.monotonic() - began)
                    if each.answer(left) is None:
                        print(f"{each.log.name}: not ready\n{each.log.read_text()[-800:]}", flush=True)
                        for other in trainers.pop(loop):
                            other.end()
                        break
            print(f"ready after {time.monotonic() - began:.0f} s: {', '.join(trainers)}", flush=True)
            for number, loop in enumerate(list(trainers)):
                left = options.seconds - (time.monotonic() - began)
                deadline = time.monotonic() + left / (len(trainers) - number)
                _, _, block, rounds = PLAN[loop]
                result["loops"][loop] = found = measured(trainers[loop], block, rounds, deadline)
                for each in trainers[loop]:
                    each.end()
                print(loop, json.dumps(found), f"at {time.monotonic() - began:.0f} s", flush=True)
                if options.json:
                    options.json.write_text(json.dumps(result, indent=1) + "\n")
        finally:
            for each in (each for every in trainers.values() for each in every):
                each.end()


if __name__ == "__main__":
    main()
