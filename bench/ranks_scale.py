"""What comparing many ranks costs the store they talk through: measured on loopback, fitted, and extended to 10 000.

    python bench/ranks_scale.py [--seconds 8] [--json bench/results/ranks_scale.json]

A store in a process of its own, and four processes that do to it, over their own connections, what the threads of so many
ranks do (probes/rank_exchange.py): a look at the stop every 0.2 s and rank, a digest of the size that `bench/ranks.py` measures
every 1.6 s (32 steps of 50 ms), and on the first rank the gathering of each round. All traffic ends in the store: its processor
time is what runs out first. The model is

    seconds of its processor in a second  =  cost of an operation x operations in a second

because the mix of operations is the same in every world. It is fitted by least squares to all worlds but the largest, which is
then predicted.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import time
from pathlib import Path
from typing import Any

WORLDS = (2, 16, 64, 256, 512, 2048)
ASKED = (2, 64, 512, 1000, 4096, 10_000)
CLIENTS = 4
ROUND = 1.6  # seconds between two digests
TEXT = 5500  # bytes of a digest
CROWD = 512  # as in probes/rank_exchange.py
PERIOD = 0.2


def serve(pipe: Any) -> None:
    """The store; tells how much processor time its process has used whenever it is asked."""
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
    pipe.send(store.port)
    while pipe.recv():
        used = resource.getrusage(resource.RUSAGE_SELF)
        pipe.send(used.ru_utime + used.ru_stime)


def ranks(port: int, share: int, world: int, until: float, answers: Any) -> None:
    """Every fourth rank. Counts what it has really done."""
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", port, None, False, wait_for_workers=False)
    mine = len(range(share, world, CLIENTS))
    rate = mine / (PERIOD * max(1.0, world / CROWD))
    every = delivering(world)
    digest = "x" * TEXT
    began = time.time()
    done, looks, looked = 0, 0.0, began
    turn = int(began / ROUND) + 1  # the same in all processes
    waiting: list[tuple[float, list[str]]] = []
    latencies: list[float] = []
    while (now := time.time()) < until:
        looks += rate * (now - looked)
        looked = now
        for _ in range(int(looks)):
            store.check(["stop"])
            done += 1
        looks -= int(looks)
        if now >= turn * ROUND:
            for rank in every[share::CLIENTS]:
                store.set(f"{turn}/{rank}", digest)
                done += 1
            if share == 0:
                waiting.append((turn * ROUND, [f"{turn}/{rank}" for rank in every]))
            turn += 1
        while len(waiting) > 2:  # processes do not begin at once: a first round may lack some
            waiting.pop(0)
        if waiting and store.check(waiting[0][1]):
            since, keys = waiting.pop(0)
            store.multi_get(keys)
            latencies.append(time.time() - since)
            for key in keys:
                store.delete_key(key)
            done += 2 * len(keys) + 1
        time.sleep(0.02)
    answers.put((done / (time.time() - began), latencies))


def delivering(world: int) -> list[int]:
    """Ranks that deliver one round."""
    stride = -(-world // CROWD)
    return [rank for rank in range(world) if rank == 0 or rank % stride == 0]


def load(world: int) -> tuple[float, float]:
    """Operations and bytes that the store sees in a second."""
    looks = world / (PERIOD * max(1.0, world / CROWD))
    digests = len(delivering(world))
    # A digest is set, fetched and deleted; a look is one question.
    return looks + 3 * digests / ROUND, 2 * digests * TEXT / ROUND


def measure(world: int, seconds: float) -> dict[str, Any]:
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    answers: Any = multiprocessing.Queue()
    warm = 12.0
    until = time.time() + warm + seconds
    parts = [
        multiprocessing.Process(target=ranks, args=(port, share, world, until, answers))
        for share in range(min(CLIENTS, world))
    ]
    for each in parts:
        each.start()
    time.sleep(warm)
    here.send(True)
    before, began = here.recv(), time.time()
    time.sleep(max(0.0, until - time.time() - 0.2))
    here.send(True)
    used, took = here.recv() - before, time.time() - began
    heard = [answers.get() for _ in parts]
    for each in parts:
        each.join()
    here.send(False)
    server.join()
    rounds = [latency for _, latencies in heard for latency in latencies]
    return {
        "ranks": world,
        "store_cpu_share": round(used / took, 5),
        "operations_a_second": round(sum(rate for rate, _ in heard), 1),
        "operations_due": round(load(world)[0], 1),
        "bytes_a_second": round(load(world)[1]),
        "rounds": len(rounds),
        "round_ms": round(1e3 * statistics.median(rounds), 1) if rounds else None,
    }


def fit(points: list[dict[str, Any]]) -> float:
    """Seconds of an operation."""
    pairs = [(p["operations_a_second"], p["store_cpu_share"]) for p in points]
    return sum(x * y for x, y in pairs) / sum(x * x for x, _ in pairs)


def told(world: int, cost: float) -> dict[str, Any]:
    operations, _ = load(world)
    return {
        "ranks": world,
        "bytes_a_rank_and_step": round(TEXT * len(delivering(world)) / world / 32, 1),
        "megabytes_a_round": round(TEXT * len(delivering(world)) / 1e6, 3),
        "operations_a_second": round(operations),
        "store_cpu_share": round(cost * operations, 4),
        "every_rank_compared_after_steps": 32 * -(-world // CROWD),
        "stop_agreed_after_seconds": round(1.0 + 4 * PERIOD * max(1.0, world / CROWD), 1),
    }


def extended(points: list[dict[str, Any]]) -> dict[str, Any]:
    cost, last = fit(points[:-1]), points[-1]
    return {
        "measured": points,
        "microseconds_an_operation": round(1e6 * cost, 2),
        "largest_world": {
            "ranks": last["ranks"],
            "predicted": round(cost * last["operations_a_second"], 4),
            "measured": last["store_cpu_share"],
        },
        "model": [told(world, cost) for world in ASKED],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    multiprocessing.set_start_method("spawn")
    points = []
    for world in WORLDS:
        points.append(measure(world, options.seconds))
        print(json.dumps(points[-1]), flush=True)
    result = extended(points)
    print(json.dumps(result, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
