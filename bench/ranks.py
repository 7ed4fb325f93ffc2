"""What watching adds to a step on two CPU ranks and more: all of premortem, as `premortem run` has it, journal and guard among it.

    python bench/ranks.py [--rounds 8] [--only ddp|fsdp2] [--more 4,8] [--json bench/results/ranks.json]

Two ranks, under DistributedDataParallel (a step of about 50 ms) and then under FSDP2, each in one run, and then as many as `--more` says.
Blocks of 64 steps without premortem take turns with blocks in its gears:

    calm      what a run spends its life in, after its first thousand steps: two steps every other second are told
    told      before that: every step is told to every detector
    audited   a step in which everything is looked at closely: the first eight, powers of two, every 500th

When premortem is switched on it looks closely at what is new to it, as in the first steps of a run. These steps do not count;
the run is then set far beyond its beginning, and goes on until it is in its gear. Each step of a block is compared with
the same one of the blocks without premortem before and after it; of all rounds the middle difference counts, and of the steps the
mean: every block holds digests and told steps, which a median over the steps would hide.

Time is told twice: as the clock says, and as the processor's time of the training thread, which other programs on the machine
change less; where there are more ranks than cores, only that is kept. The comparing of ranks is far below the noise of a step; so the
processor's time of its parts is taken as well.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

STEP = 0.05  # seconds, of which the added time is told as a share
SLEEP = 0.03
TRIES = 10  # a step may be looked at closely just when its turn comes
CRUISING = 1_000_003  # a step number far from any audit
NOVELTY = 10  # steps
AUDITED = 16
BLOCK = 64  # steps, more than a rest has in its two seconds; of a calm one about three are told
KINDS = ("ddp", "fsdp2")


class Cost(NamedTuple):
    """Of one step, in seconds."""

    wall: float
    cpu: float


Block = list[Cost]


def rank() -> None:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    from premortem.events import RunStarted
    from premortem.journal.write import Journal
    from premortem.probes.rank_comparison import RanksProbe
    from premortem.probes.rank_exchange import Exchange
    from premortem.probes.rest import AFTER, ALIKE
    from premortem.run.watcher import Watcher

    spent: list[float] = []
    sent: list[int] = []
    stepped, tell = RanksProbe._stepped, Exchange.tell

    def timed(self: RanksProbe, optimizer: Any, track: Any, step: int) -> None:
        started = time.thread_time()
        stepped(self, optimizer, track, step)
        spent.append(time.thread_time() - started)

    def counted(self: Exchange, step: int, turn: int, digest: dict[str, Any]) -> None:
        sent.append(len(json.dumps(digest, separators=(",", ":"))))
        tell(self, step, turn, digest)

    RanksProbe._stepped, Exchange.tell = timed, counted  # type: ignore[method-assign]
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    layers = [layer for _ in range(40) for layer in (nn.Linear(96, 96), nn.ReLU())]
    bare = nn.Sequential(*layers, nn.Linear(96, 1))
    sharded = os.environ["KIND"] == "fsdp2"
    if sharded:
        fully_shard(bare, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    model = bare if sharded else DistributedDataParallel(bare)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    torch.manual_seed(dist.get_rank())

    def one_step() -> Cost:
        started, worked = time.perf_counter(), time.thread_time()
        loss = model(torch.randn(32, 96)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        worked = time.thread_time() - worked
        time.sleep(SLEEP)  # a device that computes, and leaves the processor alone
        return Cost(time.perf_counter() - started, worked)

    def block(steps: int = BLOCK) -> Block:
        return [one_step() for _ in range(steps)]

    def everywhere(here: bool) -> bool:
        """On all ranks: they make the same number of steps."""
        all_of_them = torch.tensor(int(here))
        dist.all_reduce(all_of_them, dist.ReduceOp.MIN)
        return bool(all_of_them)

    @contextlib.contextmanager
    def watched(folder: str) -> Iterator[Callable[[str], Block]]:
        journal = Journal.open(Path(folder, f"rank-{dist.get_rank()}"), meta={}, on_problem=print)
        watcher = Watcher("protect", journal, on_problem=print)
        watcher.emit(RunStarted(argv=(__file__,)))
        watcher.attach()
        attachment = watcher._attachment
        assert attachment is not None
        attachment.introduce((model, optimizer))
        session = attachment.session
        session.step = CRUISING
        attachment.op_audit.focus()
        block(NOVELTY)
        session.step += 10_000  # past what is still looked at closely because it was new

        def geared(gear: str) -> Block:
            session.rest.after = AFTER if gear == "calm" else sys.maxsize
            if gear == "audited":
                session.alarm_until = session.step + AUDITED + 2
                return block(AUDITED + 2)[2:]
            for _ in range(TRIES):
                block(2 * ALIKE + 3)
                if everywhere(not session.auditing and session.resting == (gear == "calm")):
                    return block()
            raise SystemExit(f"the run does not come into the gear it is to be measured in: {gear}")

        try:
            yield geared
        finally:
            watcher.close()
            journal.close()

    block(96)
    rounds: list[dict[str, Block]] = []
    before = block()
    for _ in range(int(os.environ["ROUNDS"])):
        blocks = {}
        with tempfile.TemporaryDirectory() as folder, watched(folder) as geared:
            blocks["told"] = geared("told")
            spent.clear()
            blocks["calm"] = geared("calm")
            comparing = spent[-len(blocks["calm"]) :]
            blocks["audited"] = geared("audited")
        after = block()
        blocks["without"] = [
            Cost((a.wall + b.wall) / 2, (a.cpu + b.cpu) / 2) for a, b in zip(before, after, strict=True)
        ]
        rounds.append(blocks)
        before = after
    if dist.get_rank() == 0:
        result = {
            "parameters": len(list(model.parameters())),
            "step_ms": round(1e3 * middle([each["without"] for each in rounds]).wall, 2),
            "step_cpu_ms": round(1e3 * middle([each["without"] for each in rounds]).cpu, 2),
            "gears": {gear: added(rounds, gear) for gear in ("calm", "told", "audited")},
            "comparing": {
                "cpu_us_a_step": round(1e6 * statistics.fmean(comparing)),
                "share_of_50_ms": round(statistics.fmean(comparing) / STEP, 5),
                "digest_ms": round(1e3 * max(comparing), 2),
                "digest_bytes": max(sent),
            },
        }
        Path(os.environ["RESULT"]).write_text(json.dumps(result))
    dist.destroy_process_group()


def middle(blocks: list[Block]) -> Cost:
    """Step by step the middle one of all rounds, and of the steps the mean."""
    steps = list(zip(*blocks, strict=True))
    return Cost(
        statistics.fmean(statistics.median(each.wall for each in step) for step in steps),
        statistics.fmean(statistics.median(each.cpu for each in step) for step in steps),
    )


def added(rounds: list[dict[str, Block]], gear: str) -> dict[str, Any]:
    """Step by step the difference to the same step without premortem."""
    differences = [
        [
            Cost(a.wall - b.wall, a.cpu - b.cpu)
            for a, b in zip(each[gear], each["without"], strict=False)  # there are fewer audited ones
        ]
        for each in rounds
    ]
    more, without = middle(differences), middle([each["without"] for each in rounds])
    return {
        "added_ms": round(1e3 * more.wall, 3),
        "ratio": round(1 + more.wall / without.wall, 4),
        "share_of_50_ms": round(more.wall / STEP, 4),
        "added_cpu_ms": round(1e3 * more.cpu, 3),
        "cpu_share_of_50_ms": round(more.cpu / STEP, 4),
        "added_ms_in_each_round": [
            round(1e3 * statistics.fmean(s.wall for s in each), 2) for each in differences
        ],
        "added_cpu_ms_in_each_round": [
            round(1e3 * statistics.fmean(s.cpu for s in each), 2) for each in differences
        ],
    }


def measured(kind: str, rounds: int, ranks: int = 2) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        own = {"ROUNDS": str(rounds), "RESULT": str(path), "KIND": kind, "OMP_NUM_THREADS": "1"}
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        subprocess.run([sys.executable, *launcher, __file__], env={**os.environ, **own}, check=True)
        return dict(json.loads(path.read_text()))


def processor_time(kind: str, rounds: int, ranks: int) -> dict[str, Any]:
    """Of so many ranks what does not depend on how many of them share a core."""
    found = measured(kind, rounds, ranks)
    return {
        "ranks": ranks,
        "kind": kind,
        "step_cpu_ms": found["step_cpu_ms"],
        "added_cpu_ms": {gear: found["gears"][gear]["added_cpu_ms"] for gear in ("calm", "told")},
        "comparing_cpu_us_a_step": found["comparing"]["cpu_us_a_step"],
        "digest_bytes": found["comparing"]["digest_bytes"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument(
        "--more", default="", metavar="N,N", help="these numbers of ranks too, for processor time"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    only = f" --only {options.only}" if options.only else ""
    more = f" --more {options.more}" if options.more else ""
    kinds = [kind for kind in KINDS if options.only in (None, kind)]
    result = {
        "command": f"python bench/ranks.py --rounds {options.rounds}{only}{more}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "torch": importlib.metadata.version("torch"),
        "kinds": {kind: measured(kind, options.rounds) for kind in kinds},
        "more": [
            processor_time(kind, options.rounds, int(number))
            for number in filter(None, options.more.split(","))
            for kind in kinds
        ],
    }
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    rank() if "RANK" in os.environ else main()
