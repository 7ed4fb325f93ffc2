"""What ranks send each other for premortem, counted by the kernel, and what that comes to on a thousand.

    python bench/ranks_counts.py [--worlds 2,3,4,8] [--json bench/results/ranks_counts.json]

Counts, not times: they are the same on a busy machine. A small model under FSDP2 on so many processes, each under `premortem run`.
The kernel counts for each connection how many segments with data and how many bytes have left it (TCP_INFO); the connections that
premortem has opened are known by when they were opened. Read after step 32 and again after step 96: in between lie 64 steps,
with an agreement each, and two rounds of digests.

Agreements of more ranks than a machine has are played out: every rank's messages, one after the other, with the sums that they
carry, until all ranks have the answer. Depth is how many messages had to wait for each other.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

WORLDS = (2, 3, 4, 8)
PLAYED = (2, 8, 64, 512, 1000, 4096)
FIRST, LAST = 32, 96  # steps
HOP = 50e-6  # seconds for a message between two machines and the thread that waits for it, on an ordinary network
TEXT = {"data_segs_out": (156, "I"), "bytes_sent": (200, "Q")}  # in Linux's struct tcp_info


class Sent(NamedTuple):
    messages: int
    bytes: int


def connections() -> dict[int, Sent]:
    """By inode: what has left each TCP connection of this process."""
    found = {}
    for name in (each.name for each in Path("/proc/self/fd").iterdir()):
        with suppress(OSError):
            about = os.fstat(int(name))
            if stat.S_ISSOCK(about.st_mode):
                with socket.socket(fileno=os.dup(int(name))) as made:
                    info = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                    found[about.st_ino] = Sent(
                        *(struct.unpack_from(kind, info, at)[0] for at, kind in TEXT.values())
                    )
    return found


def summed(of: set[int], now: dict[int, Sent]) -> Sent:
    return Sent(*(sum(now[each][field] for each in of if each in now) for field in (0, 1)))


def rank() -> None:
    """The script that is watched. It looks at premortem from outside: which connections are new after a call."""
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    from premortem.actions import agreement
    from premortem.probes import rank_exchange

    ours: set[int] = set()
    told = {"operations": 0, "bytes": 0}

    def noted(original: Any) -> Any:
        def group(self: Any, ranks: Any) -> Any:
            if ranks in self._groups:
                return original(self, ranks)
            before = set(connections())
            made = original(self, ranks)
            ours.update(set(connections()) - before)
            return made

        return group

    class Counting:
        def __init__(self, store: Any) -> None:
            self._store = store

        def __getattr__(self, name: str) -> Any:
            told["operations"] += 1
            return getattr(self._store, name)

        def set(self, key: str, value: str) -> None:
            told["operations"] += 1
            told["bytes"] += len(value)
            self._store.set(key, value)

    connect = rank_exchange.connect
    rank_exchange.connect = lambda prefix: Counting(connect(prefix))
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    fully_shard(model, mesh=mesh)
    dist.all_reduce(torch.zeros(1))
    model(torch.randn(4, 16)).sum().backward()  # the user's own connections are there
    model.zero_grad()
    agreement.Agreement._group = noted(agreement.Agreement._group)  # type: ignore[method-assign]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    readings = []
    for step in range(1, LAST + 1):
        x = torch.randn(8, 16)
        optimizer.zero_grad()
        (model(x) - x[:, :1]).square().mean().backward()
        optimizer.step()
        if step in (FIRST, LAST):
            time.sleep(1.0)  # the thread has sent its digest
            dist.barrier()
            readings.append((summed(ours, connections()), dict(told), time.time()))
    (sent, asked, began), (sent_then, asked_then, ended) = readings
    record = {
        "agreement": [b - a for a, b in zip(sent, sent_then, strict=True)],
        "store": {name: asked_then[name] - asked[name] for name in told},
        "looks": (ended - began) / rank_exchange._PERIOD,
    }
    every: list[Any] = [None] * world
    dist.all_gather_object(every, record)
    if dist.get_rank() == 0:
        Path(os.environ["RESULT"]).write_text(json.dumps(every))
    dist.destroy_process_group()


def counted(world: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        own = {"RESULT": str(path), "OMP_NUM_THREADS": "1", "COUNTED": "1"}
        command = [
            sys.executable,
            "-m",
            "premortem",
            "run",
            "--quiet",
            "--folder",
            f"{folder}/run",
            "--nproc",
            str(world),
        ]
        subprocess.run([*command, __file__], env={**os.environ, **own}, check=True)
        every = json.loads(path.read_text())
    steps = LAST - FIRST
    most = max(every, key=lambda each: each["agreement"][0])
    return {
        "ranks": world,
        "agreement_messages_a_step": round(sum(each["agreement"][0] for each in every) / world / steps, 2),
        "agreement_messages_a_step_most": round(most["agreement"][0] / steps, 2),
        "agreement_bytes_a_step": round(sum(each["agreement"][1] for each in every) / world / steps, 1),
        "digest_bytes": round(sum(each["store"]["bytes"] for each in every) / world / 2),
        "store_operations_a_second": round(
            sum(each["store"]["operations"] for each in every) / (every[0]["looks"] * 0.2), 1
        ),
    }


# --- more ranks than a machine has ---------------------------------------------------------------


def played(world: int) -> dict[str, Any]:
    """The agreement's own schedule (actions/agreement.py), with one message in the air after the other."""
    from premortem.actions.agreement import partners

    sums, clock, sent = [float(each) for each in range(world)], [0] * world, [0] * world
    schedules = [partners(each, world) for each in range(world)]
    for turn in range(max(map(len, schedules))):
        before, at = list(sums), list(clock)
        for each in range(world):
            meeting = schedules[each][turn]
            if meeting is None:
                continue
            if meeting.sends:
                sent[each] += 1
            if meeting.takes:
                clock[each] = max(at[each], at[meeting.rank]) + 1
                sums[each] = before[meeting.rank] + (before[each] if meeting.adds else 0.0)
    assert set(sums) == {world * (world - 1) / 2}, "all ranks have the sum of all"
    return {
        "ranks": world,
        "depth": max(clock),
        "messages_a_rank": round(sum(sent) / world, 2),
        "messages_a_rank_most": max(sent),
        "messages": sum(sent),
        "ms_at_50_us": round(1e3 * HOP * max(clock), 2),
        "ring_depth": 2 * (world - 1),
        "ring_ms_at_50_us": round(1e3 * HOP * 2 * (world - 1), 2),
        "connections": world - 1,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", default=",".join(map(str, WORLDS)))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = {
        "counted": [counted(int(each)) for each in options.worlds.split(",") if each],
        "played": [played(each) for each in PLAYED],
    }
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    rank() if "COUNTED" in os.environ and "RANK" in os.environ else main()
