"""What a cache of decoded images costs and brings: RamCache beside a dictionary in the dataset, the page cache, and nothing.

    python bench/ram_cache.py [--quick] [--json FILE]

Images are real PNG files. Each way is run in a process of its own, under a DataLoader with four persistent workers that
shuffles. Memory is what the system accounts for (PSS: pages that are shared count once among those who share them), of the
process and its workers together, above the same without a cache. `read` is the
CPU time of one sample in one process, in alternation.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import psutil
import torch
from torch.utils.data import DataLoader, Dataset

from premortem.parts import RamCache

SIDE = 256
WORKERS = 4
EPOCHS = 4  # the last one is timed: by then each worker's dictionary is nearly full
WAYS = ("no cache", "page cache", "dictionary", "RamCache")


def write_png(path: Path, image: np.ndarray) -> None:
    rows = b"".join(b"\0" + row.tobytes() for row in image)  # filter 0: rows as they are
    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 2, 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n"]
    for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b"")):
        parts.append(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
    path.write_bytes(b"".join(parts))


def read_png(path: Path) -> np.ndarray:
    data = path.read_bytes()
    (length,) = struct.unpack(">I", data[33:37])
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + length]), np.uint8).reshape(SIDE, 1 + 3 * SIDE)
    return rows[:, 1:].reshape(SIDE, SIDE, 3)


def prepare(folder: Path, count: int) -> None:
    draw = np.random.default_rng(0)
    for number in range(count):
        coarse = draw.integers(0, 200, (8, 8, 3), dtype=np.uint8)
        image = coarse.repeat(SIDE // 8, 0).repeat(SIDE // 8, 1) + draw.integers(
            0, 16, (SIDE, SIDE, 3), dtype=np.uint8
        )
        write_png(folder / f"{number:05}.png", image)
        np.save(folder / f"{number:05}.npy", np.ascontiguousarray(read_png(folder / f"{number:05}.png")))


class Images(Dataset[Any]):
    """Decoded, from PNG or, for the page cache, from files that hold the decoded image."""

    def __init__(self, folder: Path, suffix: str = ".png") -> None:
        self.paths = sorted(folder.glob(f"*{suffix}"))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> torch.Tensor:
        path = self.paths[index]
        image = read_png(path) if path.suffix == ".png" else np.load(path)
        return torch.from_numpy(np.array(image) if path.suffix == ".png" else image)


class Dictionary(Images):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.held: dict[int, torch.Tensor] = {}

    def __getitem__(self, index: int) -> torch.Tensor:
        if index not in self.held:
            self.held[index] = super().__getitem__(index)
        return self.held[index].clone()  # as safe as the others: a transform in place must not spoil it


def dataset(way: str, folder: Path) -> Dataset[Any]:
    if way == "page cache":
        return Images(folder, ".npy")
    if way == "dictionary":
        return Dictionary(folder)
    return RamCache(Images(folder), "2GiB") if way == "RamCache" else Images(folder)


def memory(processes: list[psutil.Process]) -> dict[str, float]:
    found = [process.memory_full_info() for process in processes]
    return {kind: sum(getattr(each, kind) for each in found) / 2**20 for kind in ("pss", "rss")}


def cpu(process: psutil.Process) -> float:
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def loop(way: str, folder: Path) -> dict[str, Any]:
    """In a process of its own: epochs under a DataLoader."""
    warnings.simplefilter("ignore")
    data = dataset(way, folder)
    count = len(data)  # type: ignore[arg-type]
    loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=WORKERS, persistent_workers=True)
    seconds = []
    here = psutil.Process()
    for _epoch in range(EPOCHS):
        busy = cpu(here)
        begin = time.perf_counter()
        seen = sum(len(batch) for batch in loader)
        seconds.append(time.perf_counter() - begin)
        assert seen == count
    found = {
        "cpu_us_per_image": round(1e6 * (cpu(here) - busy) / count, 1),  # of the last epoch, all processes
        "images_per_s": round(count / seconds[-1], 1),
        "first_epoch_images_per_s": round(count / seconds[0], 1),
        **memory([here, *here.children(recursive=True)]),
    }
    if isinstance(data, RamCache):
        found["hit_rate"] = round(data.report().hit_rate, 4)
        found["held_mib"] = round(data.report().used / 2**20, 1)
    return found


def reads(folder: Path, rounds: int) -> dict[str, float]:
    """CPU microseconds of one sample, everything warm; the ways take turns, and the least disturbed round of each counts."""
    sets = {way: dataset(way, folder) for way in WAYS}
    count = min(200, len(sets["no cache"]))  # type: ignore[arg-type]
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(rounds + 1):
        for way, data in sets.items():
            begin = time.process_time()
            for index in range(count):
                data[index]
            if number:
                times[way].append((time.process_time() - begin) / count * 1e6)
    return {way: round(min(each), 1) for way, each in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description="RamCache beside a dictionary, the page cache, and nothing.")
    parser.add_argument("--quick", action="store_true", help="few images, for a test")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(json.dumps(loop(options.way, options.folder)))
        return 0
    count, rounds, repeats = (64, 2, 1) if options.quick else (1000, 5, 1)
    with tempfile.TemporaryDirectory(prefix="premortem-bench-") as scratch:
        folder = Path(scratch)
        prepare(folder, count)
        runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
        for _ in range(repeats):  # in turn, because others use the machine too
            for way in WAYS:
                command = [sys.executable, __file__, "--way", way, "--folder", scratch]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                runs[way].append(json.loads(done.stdout.splitlines()[-1]))
                print(way, runs[way][-1], flush=True)
        read = reads(folder, rounds)
    decoded = count * SIDE * SIDE * 3 / 2**20
    ways = {}
    for way, found in runs.items():
        middle = {key: statistics.median(run[key] for run in found) for key in found[0]}
        base = statistics.median(run["pss"] for run in runs["no cache"])
        ways[way] = {
            **{key: round(value, 4) for key, value in middle.items()},
            "read_us": read[way],
            "copies": round((middle["pss"] - base) / decoded, 2),
        }
    result = {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": f"{os.cpu_count()} cores",
        "workers": WORKERS,
        "images": count,
        "side": SIDE,
        "decoded_mib": round(decoded, 1),
        "ways": ways,
    }
    print(json.dumps(result, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
