"""What the vault holds: killed, flipped, full, cut off; and what it costs.

python bench/checkpoints.py [--quick] [--only PART] [--device cpu|cuda] [--json FILE]

kills     SIGKILL at random moments of saves, and what is there afterwards
flips     one bit of a stored file turned over, and who notices
disks     full, broken and read-only in the middle of a save
mirrors   a real S3 server behind a proxy that refuses, truncates and stalls, and a process that is killed
gpu       the stall of an asynchronous save, beside the copy to pinned memory; where there is a GPU
speed     the stall of an asynchronous save and the time of a verified load, beside torch's own
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: a forked child has no threads to share

import torch

PARTS = ("identity", "kills", "flips", "disks", "mirrors", "gpu", "speed")


def identity(options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    from checkpoint.identity import identity

    return identity(scratch)


def kills(options: argparse.Namespace, scratch: Path) -> list[dict[str, Any]]:
    from checkpoint.kills import WAYS, kill

    torch.set_num_threads(1)
    ours = [way for way in WAYS if way != "torch.save"]
    each = options.kills // len(ours)
    plan = {"torch.save": max(4, each // 3), **dict.fromkeys(ours, each)}
    found = []
    for number, (way, times) in enumerate(plan.items()):
        found.append(kill(way, times, scratch, number))
        print(found[-1], flush=True)
    return found


def flips(options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    from checkpoint.flips import flips

    return flips(options.flips, scratch)


def disks(options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    from checkpoint.disks import disks

    return disks(4 if options.quick else 20, scratch)


def mirrors(options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    from checkpoint.mirrors import mirrors

    return mirrors(6, 1, scratch) if options.quick else mirrors(24, 4, scratch)


def gpu(options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    if not torch.cuda.is_available():
        return {"skipped": "there is no GPU here"}
    from checkpoint.gpu import gpu

    return gpu(7, scratch)


def speed(options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    from checkpoint.speed import load, stall, watched_load

    torch.set_num_threads(os.cpu_count() or 1)  # as a training has them
    size = 16 if options.quick else 256
    rounds = 3 if options.quick else 25
    return {
        "stall": stall(size, rounds, options.device, scratch),
        "load": load(size, rounds, scratch),
        "load under run": watched_load(size, rounds, scratch),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="What the vault holds, and what it costs.")
    parser.add_argument("--quick", action="store_true", help="a few of each, for a test")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--flips", type=int)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.kills = options.kills or (8 if options.quick else 300)
    options.flips = options.flips or (40 if options.quick else 1000)
    found: dict[str, Any] = {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name() if options.device == "cuda" else f"{os.cpu_count()} cores",
    }
    if options.json is not None and options.json.exists():
        found = {
            **json.loads(options.json.read_text()),
            **found,
        }  # a part that is measured again replaces itself
    for name in PARTS:
        if options.only in {None, name}:
            with tempfile.TemporaryDirectory(prefix="premortem-bench-") as scratch:
                found[name] = globals()[name](options, Path(scratch))
            print(name, json.dumps(found[name], indent=1), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
