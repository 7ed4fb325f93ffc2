"""What watching adds to a step on two CPU ranks, and what it would add on many.

    python bench/ranks.py [--rounds 6] [--steps 384] [--json bench/results/ranks.json]

Two ranks under DistributedDataParallel, a step of about 50 ms, in one run:

    whole      blocks of steps with and without premortem take turns; of a block with it, the first steps (in which
               everything is looked at closely) do not count
    exchange   the same with only the comparing of ranks on and off, which is far below the noise of a step; so the time of
               its parts is taken as well

Time is told twice: as the clock says, and as the processor's time of the training thread, which other programs on the machine
change less.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK = 32
WARM = 96  # steps of a block with premortem that do not count
COUNTED = 128
STEP = 0.05
SLEEP = 0.03


def rank() -> None:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    import premortem
    from premortem.probes.exchange import Exchange
    from premortem.probes.ranks import RanksProbe

    spent: list[float] = []
    sent: list[int] = []
    off = False
    stepped, tell = RanksProbe._stepped, Exchange.tell

    def timed(self: RanksProbe, optimizer: object, track: object, step: int) -> None:
        started = time.perf_counter()
        if not off:
            stepped(self, optimizer, track, step)
        spent.append(time.perf_counter() - started)

    def counted(self: Exchange, step: int, turn: int, digest: dict[str, object]) -> None:
        sent.append(len(json.dumps(digest, separators=(",", ":"))))
        tell(self, step, turn, digest)

    RanksProbe._stepped, Exchange.tell = timed, counted  # type: ignore[method-assign]
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    layers = [layer for _ in range(40) for layer in (nn.Linear(96, 96), nn.ReLU())]
    model = DistributedDataParallel(nn.Sequential(*layers, nn.Linear(96, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    torch.manual_seed(dist.get_rank())
    blocks: dict[bool, list[float]] = {False: [], True: []}
    busy: list[float] = []  # seconds of the processor, which other programs on the machine do not change

    def one_step() -> float:
        started, worked = time.perf_counter(), time.thread_time()
        loss = model(torch.randn(32, 96)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        busy.append(time.thread_time() - worked)
        time.sleep(SLEEP)  # a device that computes, and leaves the processor alone
        return time.perf_counter() - started

    for _ in range(3 * BLOCK):
        one_step()
    watched = functools.partial(premortem.watch, quiet=True)
    rounds: list[dict[str, float]] = []
    for _ in range(int(os.environ["ROUNDS"])):
        told = {}
        for name, watching in (("without", contextlib.nullcontext), ("with", watched)):
            with watching():
                for _ in range(WARM):
                    one_step()
                seconds = [one_step() for _ in range(COUNTED)]
            told[name] = statistics.median(seconds)
            told[f"cpu {name}"] = statistics.median(busy[-COUNTED:])
        rounds.append(told)
    spent.clear()
    sent.clear()
    busy.clear()
    with premortem.watch(quiet=True):
        for number in range(int(os.environ["STEPS"])):
            off = (number // BLOCK) % 2 == 1
            seconds = one_step()
            if number >= 2 * BLOCK:
                blocks[off].append(seconds)
    if dist.get_rank() == 0:
        watched = [
            each for number, each in enumerate(spent) if (number // BLOCK) % 2 == 0 and number >= 2 * BLOCK
        ]
        result = {
            "step_ms_with": 1e3 * statistics.fmean(blocks[False]),
            "step_ms_without": 1e3 * statistics.fmean(blocks[True]),
            "ratio": statistics.fmean(blocks[False]) / statistics.fmean(blocks[True]),
            "whole": whole(rounds),
            "main_thread_us_per_step": 1e6 * statistics.fmean(watched),
            "share_of_50_ms": statistics.fmean(watched) / STEP,
            "digest_ms": 1e3 * max(watched),
            "digest_bytes": max(sent),
            "parameters": len(list(model.parameters())),
        }
        Path(os.environ["RESULT"]).write_text(json.dumps(result, indent=2))
    dist.destroy_process_group()


def whole(rounds: list[dict[str, float]]) -> dict[str, object]:
    """Each round is a pair; of the pairs the middle one counts."""
    added = [each["with"] - each["without"] for each in rounds]
    cpu = [each["cpu with"] - each["cpu without"] for each in rounds]
    return {
        "step_ms_without": round(1e3 * statistics.median(each["without"] for each in rounds), 2),
        "cpu_ms_without": round(1e3 * statistics.median(each["cpu without"] for each in rounds), 2),
        "added_ms": [round(1e3 * each, 2) for each in added],
        "added_cpu_ms": [round(1e3 * each, 2) for each in cpu],
        "ratio": round(statistics.median(each["with"] / each["without"] for each in rounds), 4),
        "added_share_of_50_ms": round(statistics.median(added) / STEP, 4),
        "added_cpu_share_of_50_ms": round(statistics.median(cpu) / STEP, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        sizes = {"STEPS": str(options.steps), "ROUNDS": str(options.rounds)}
        variables = {**os.environ, **sizes, "RESULT": str(result), "OMP_NUM_THREADS": "1"}
        command = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node=2",
            __file__,
        ]
        subprocess.run(command, env=variables, check=True)
        measured = json.loads(result.read_text())
    print(json.dumps(measured, indent=2))
    print("ranks   MB a round   store operations a second")
    for world in (2, 64, 512, 4096, 10_000):
        reporting = min(world, 512)
        polls = world / (0.2 * max(1.0, world / 512))
        print(
            f"{world:>6}   {reporting * measured['digest_bytes'] / 1e6:>10.2f}   "
            f"{polls + reporting / (32 * STEP):>25.0f}"
        )


if __name__ == "__main__":
    rank() if "RANK" in os.environ else main()
