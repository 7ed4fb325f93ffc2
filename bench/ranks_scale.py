"""What comparing many ranks costs the store they talk through: measured on loopback, fitted, and extended to 10 000.

    python bench/ranks_scale.py [--seconds 8] [--json bench/results/ranks_scale.json]

A store in a process of its own, and the real `Exchange` of every rank: its thread, its connection, its looks at the store, a
digest of the size that `bench/ranks.py` measures every 1.6 s (32 steps of 50 ms). Only the training is left out. The store is
one process, and all traffic ends there: its processor time is what runs out first. The model is

    seconds of its processor in a second  =  per operation x operations + per byte x bytes

fitted by least squares to all worlds but the largest, which is then predicted. Latencies are those of threads that share two
or three cores, and are no more than a bound.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import statistics
import time
from pathlib import Path
from typing import Any

WORLDS = (2, 16, 64, 256, 512, 1024)
ASKED = (2, 64, 512, 4096, 10_000)
EACH = 128  # ranks in one process
ROUND = 1.6  # seconds between two digests
TEXT = 5500  # bytes of a digest
CROWD = 512  # as in probes/exchange.py
PERIOD = 0.2


def serve(pipe: Any) -> None:
    """The store; tells how much processor time its process has used whenever it is asked."""
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
    pipe.send(store.port)
    while pipe.recv():
        used = resource.getrusage(resource.RUSAGE_SELF)
        pipe.send(used.ru_utime + used.ru_stime)


def ranks(port: int, first: int, last: int, world: int, until: float, latencies: Any) -> None:
    """Some of the ranks, as they are in a run."""
    from datetime import timedelta

    from torch.distributed import PrefixStore, TCPStore

    from premortem.probes import exchange

    exchange.connect = lambda prefix: PrefixStore(  # type: ignore[assignment]
        prefix, TCPStore("127.0.0.1", port, None, False, timedelta(seconds=30), wait_for_workers=False)
    )
    mine = [exchange.Exchange(rank, world, f"scale/{world}", _complain) for rank in range(first, last)]
    digest = {"text": "x" * TEXT}
    start = until - int((until - time.time()) / ROUND) * ROUND
    told: dict[int, float] = {}
    heard = []
    turn = 0
    while time.time() < until:
        if time.time() >= start + turn * ROUND:
            told[turn] = time.time()
            for each in mine:
                each.tell(turn, turn, digest)
            turn += 1
        while mine[0].rounds:
            step, _ = mine[0].rounds.popleft()
            heard.append(time.time() - told[step])
        time.sleep(0.005)
    if first == 0:
        latencies.put(heard)


def _complain(unit: str, error: BaseException) -> None:
    print(unit, repr(error))


def reporting(world: int) -> int:
    """Ranks that deliver one round."""
    stride = -(-world // CROWD)
    return len([rank for rank in range(world) if rank == 0 or rank % stride == 0])


def load(world: int) -> tuple[float, float]:
    """Operations and bytes that the store sees in a second. The first rank also asks whether a round is complete."""
    looks = world / (PERIOD * max(1.0, world / CROWD))
    digests = reporting(world)
    # A digest is set, fetched and deleted; a look is one question.
    return looks + 3 * digests / ROUND + 1 / PERIOD, 2 * digests * TEXT / ROUND


def measure(world: int, seconds: float) -> dict[str, Any]:
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    latencies: Any = multiprocessing.Queue()
    warm = 12.0 + world / 40
    until = time.time() + warm + seconds
    parts = [
        multiprocessing.Process(target=ranks, args=(port, at, min(at + EACH, world), world, until, latencies))
        for at in range(0, world, EACH)
    ]
    for each in parts:
        each.start()
    time.sleep(warm)
    here.send(True)
    before, began = here.recv(), time.time()
    time.sleep(max(0.0, until - time.time() - 0.5))
    here.send(True)
    used, took = here.recv() - before, time.time() - began
    heard = latencies.get()
    for each in parts:
        each.join()
    here.send(False)
    server.join()
    operations, size = load(world)
    return {
        "ranks": world,
        "store_cpu_share": round(used / took, 5),
        "operations_a_second": round(operations, 1),
        "bytes_a_second": round(size),
        "rounds": len(heard),
        "round_ms": round(1e3 * statistics.median(heard), 1) if heard else None,
    }


def fit(points: list[dict[str, Any]]) -> tuple[float, float]:
    """Least squares of two numbers, neither below 0."""
    xs = [(p["operations_a_second"], p["bytes_a_second"]) for p in points]
    ys = [p["store_cpu_share"] for p in points]
    aa, bb = sum(x[0] ** 2 for x in xs), sum(x[1] ** 2 for x in xs)
    ab = sum(x[0] * x[1] for x in xs)
    ay, by = (
        sum(x[0] * y for x, y in zip(xs, ys, strict=True)),
        sum(x[1] * y for x, y in zip(xs, ys, strict=True)),
    )
    det = aa * bb - ab * ab
    one, two = (bb * ay - ab * by) / det, (aa * by - ab * ay) / det
    if one < 0:
        return 0.0, by / bb
    return (one, two) if two >= 0 else (ay / aa, 0.0)


def told(world: int, model: tuple[float, float]) -> dict[str, Any]:
    operations, size = load(world)
    return {
        "ranks": world,
        "bytes_a_rank_and_step": round(TEXT * reporting(world) / world / 32, 1),
        "megabytes_a_round": round(TEXT * reporting(world) / 1e6, 3),
        "operations_a_second": round(operations),
        "store_cpu_share": round(model[0] * operations + model[1] * size, 4),
        "every_rank_compared_after_steps": 32 * -(-world // CROWD),
        "stop_agreed_after_seconds": round(1.0 + 4 * PERIOD * max(1.0, world / CROWD), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    points = []
    for world in WORLDS:
        points.append(measure(world, options.seconds))
        print(json.dumps(points[-1]), flush=True)
    model = fit(points[:-1])
    last = points[-1]
    predicted = model[0] * last["operations_a_second"] + model[1] * last["bytes_a_second"]
    result = {
        "measured": points,
        "microseconds_an_operation": round(1e6 * model[0], 3),
        "nanoseconds_a_byte": round(1e9 * model[1], 3),
        "largest_world": {"predicted": round(predicted, 4), "measured": last["store_cpu_share"]},
        "model": [told(world, model) for world in ASKED],
    }
    print(json.dumps(result, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
