"""One run of one script, bare or watched: how it ended, what it printed, what it cost, what was found."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

LIMIT = 150  # seconds for one run
HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src"
ALONE = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONHASHSEED": "0", "CUDA_VISIBLE_DEVICES": ""}
# Every run draws the same random numbers, where the script does not seed by itself; stand_ins says what else this brings.
SEEDED = "import wild_stand_ins, random, numpy, torch; random.seed(0); numpy.random.seed(0); torch.manual_seed(0)\n"
# Lines that say how long something took differ in any two runs.
TIMED = re.compile(
    r"time|\d ?ms\b|\bsecs?\b|seconds?|s/it|it/s|elapsed|tok|\d+m \d+s|0x[0-9a-f]{6}|SPS", re.IGNORECASE
)


def scripts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = loads((HERE / "scripts.toml").read_text())["script"]
    return found


def effect(one: dict[str, Any], healthy: dict[str, Any], again: dict[str, Any]) -> bool | None:
    """Whether a bare run differs from a healthy one, in what is printed or in the weights that it ends with; None where nothing is
    the same in two healthy runs. A script that ends with an error of its own has told its author."""
    if one["exit"] != healthy["exit"]:
        return False
    steady = [key for key in ("output", "weights") if healthy[key] == again[key]]
    if not healthy["numbers"] and "output" in steady:
        steady.remove("output")
    return any(one[key] != healthy[key] for key in steady) if steady else None


def seeded(text: str) -> str:
    """With our line where the first import may stand: after the docstring's place does not matter, after `__future__` it does."""
    future = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    place = max((node.end_lineno or 0 for node in future), default=0)
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:place], SEEDED, *lines[place:]])


def run(script: dict[str, Any], folder: Path, watched: bool) -> dict[str, Any]:
    file = folder / script["file"]
    findings, trace = folder / ".findings.json", folder / ".trace"
    trace.unlink(missing_ok=True)
    command = [sys.executable, file.name, *script.get("args", ())]
    if watched:
        ours = ["-m", "premortem", "run", "--quiet", "--policy", "observe", "--findings", str(findings)]
        command[1:2] = [*ours, file.name]
    paths = [str(folder), str(HERE / "stand_ins"), str(SOURCE), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        **ALONE,
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "WILD_STANDS_IN": " ".join(script.get("stands_in", ())),
        "WILD_TRACE": "" if watched else str(trace),
    }
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with (folder / ".out").open("w+") as out, (folder / ".err").open("w+") as err:
        process = subprocess.Popen(
            command,
            cwd=file.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            code: int | str = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            code = "timeout"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output, error = ((folder / name).read_text(errors="replace") for name in (".out", ".err"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = json.loads(findings.read_text()) if findings.exists() else {"run": {}, "findings": []}
    loud = [finding for finding in said["findings"] if finding["severity"] != "info"]
    steady = "\n".join(line for line in output.splitlines() if not TIMED.search(line))
    return {
        "exit": code,
        "output": hashlib.sha256(steady.replace(str(folder), "").encode()).hexdigest()[:12],
        "numbers": len(re.findall(r"\d\.\d", steady)),
        "weights": trace.read_text() if trace.exists() else "",
        "cpu": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
        "seconds": round(time.monotonic() - began, 1),
        "error": error[-400:] if code != 0 else "",
        "blind": (said["run"].get("watched") or {}).get(
            "missed", []
        ),  # what our own errors kept us from seeing
        "findings": [
            [f["code"], f["family"], f["severity"], f["step"], f["certainty"], f["message"][:200]]
            for f in loud
        ],
    }
