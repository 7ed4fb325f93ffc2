"""premortem under other versions of Python and torch: a virtual environment for each pair, and the quick suite in each.

    python tools/matrix.py                              # all pairs below, as far as interpreters and wheels can be had
    python tools/matrix.py 3.12-2.9.1 --folder /tmp/m   # one of them, in environments that are kept there

What each gave goes into bench/results/matrix.json, and `make docs` makes the table of docs/versions.md of it.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "matrix.json"
PAIRS = (
    "3.10-2.5.1 3.11-2.4.1 3.11-2.6.0 3.11-2.8.0 3.11-2.11.0 3.11-2.13.0 3.12-2.9.1 3.13-2.10.0 3.14-2.12.0"
).split()
# The parts that touch torch most: probes, the guard, undoing, checkpoints, whole runs. About two minutes on two cores.
QUICK = (
    "tests/test_watch.py tests/test_watcher.py tests/test_guard.py tests/test_undo.py tests/probes/test_gradients.py "
    "tests/probes/test_counting.py tests/probes/test_meaning.py tests/vault/reading/test_verify.py "
    "tests/vault/checkpoints/test_resume.py"
).split()
# What these tests need besides torch; doors and trackers are not among them.
NEEDS = (
    "safetensors xxhash pytest pytest-xdist hypothesis psutil numpy pillow rich ruamel.yaml shtab tomli "
    "bokeh jinja2 pyte tqdm pydantic pyyaml hatchling editables"
).split()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", nargs="*", metavar="PYTHON-TORCH", help=f"default: {' '.join(PAIRS)}")
    parser.add_argument(
        "--folder", type=Path, help="keep the environments here; default: each is removed after it"
    )
    parser.add_argument("--seconds", type=float, default=900.0, help="for the suite of one pair")
    options = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for pair in options.pairs or PAIRS:
        home = options.folder or Path(tempfile.mkdtemp(prefix="premortem-matrix-"))
        try:
            known[pair] = tried(pair, home, options.seconds)
        finally:
            if options.folder is None:
                shutil.rmtree(home, ignore_errors=True)
        print(pair, json.dumps(known[pair]), flush=True)
        RESULTS.write_text(json.dumps(dict(sorted(known.items(), key=_order)), indent=2) + "\n")
    return int(any(each["result"] == "failed" for each in known.values()))


def _order(item: tuple[str, Any]) -> list[list[int]]:
    return [[int(number) for number in version.split(".")] for version in item[0].split("-")]


def tried(pair: str, home: Path, seconds: float) -> dict[str, Any]:
    python, torch = pair.split("-")
    found = interpreter(python)
    if found is None:
        return {"result": "not tried", "why": f"there is no Python {python} here"}
    environment = home / f"python{python}-torch{torch}"
    try:
        installed = install(found, environment, torch)
    except subprocess.CalledProcessError as error:
        said = [line for line in str(error.stderr).splitlines() if line.startswith("ERROR")]
        return {"result": "not tried", "why": (said or ["it cannot be installed"])[0][:200]}
    return {**installed, **suite(environment, seconds), "when": dt.date.today().isoformat()}  # noqa: DTZ011


def interpreter(version: str) -> str | None:
    """On the path, or where pyenv and uv keep theirs."""
    named = shutil.which(f"python{version}")
    homes = [Path.home() / ".pyenv" / "versions", Path.home() / ".local" / "share" / "uv" / "python"]
    kept = [path for home in homes for path in sorted(home.glob(f"*{version}.*/bin/python{version}"))]
    for each in [*([named] if named else []), *map(str, kept)]:
        if subprocess.run([each, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return each
    return None


def install(python: str, environment: Path, torch: str) -> dict[str, Any]:
    own = environment / "bin" / "python"
    pip = [str(own), "-m", "pip", "install", "--quiet", "--no-compile"]
    if not own.exists():
        called(python, "-m", "venv", str(environment))
    called(*pip, f"torch=={torch}", *NEEDS)
    called(*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    said = called(
        str(own), "-c", "import platform, torch; print(platform.python_version(), torch.__version__)"
    )
    return dict(zip(("python", "torch"), said.split(), strict=True))


def called(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def suite(environment: Path, seconds: float) -> dict[str, Any]:
    """The suite's own last line. Warnings of torch's about its own age do not fail it here."""
    command = [
        str(environment / "bin" / "python"),
        "-m",
        "pytest",
        "-q",
        "-W",
        "ignore",
        "-p",
        "no:cacheprovider",
    ]
    began = time.monotonic()
    try:
        done = subprocess.run(
            [*command, *QUICK],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"result": "failed", "why": f"the suite was not over after {seconds:.0f} s"}
    counts = {
        word: int(number)
        for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", _last(done.stdout))
    }
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    ended = {"result": "passed" if done.returncode == 0 else "failed", **counts}
    if done.returncode and not failed:
        ended["why"] = (_last(done.stdout) or _last(done.stderr))[:200]
    return {
        **ended,
        **({"failures": failed[:12]} if failed else {}),
        "seconds": round(time.monotonic() - began),
    }


def _last(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


if __name__ == "__main__":
    print(f"on {platform.system()} {platform.machine()}", file=sys.stderr)
    sys.exit(main())
