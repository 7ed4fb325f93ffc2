"""Two ranks under `premortem run`, as torchrun starts them, without torchrun's own start-up time."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import premortem

SRC = str(Path(premortem.__file__).parents[1])
SCRIPT = Path(__file__).with_name("script.py")


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def together(folder, *words, options=(), ranks=2, timeout=60, script=SCRIPT):
    """The exit codes, what all ranks found, and what was printed."""
    command = [sys.executable, "-m", "premortem", "run", "--folder", "run", "--findings", "found.json"]
    codes, printed = started(folder, [*command, *options, str(script), *words], ranks, timeout)
    return codes, json.loads((folder / "found.json").read_text()), printed


def started(folder, command, ranks=2, timeout=60):
    """The exit codes of a command that is run on each rank, and what was printed."""
    port = str(free_port())
    processes = []
    for rank in range(ranks):
        variables = {
            **os.environ,
            "PYTHONPATH": SRC,
            "OMP_NUM_THREADS": "1",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "WORLD_SIZE": str(ranks),
            "LOCAL_WORLD_SIZE": str(ranks),
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
        }
        processes.append(
            subprocess.Popen(
                command,
                cwd=folder,
                env=variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    printed = []
    try:
        printed = [process.communicate(timeout=timeout)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return [p.returncode for p in processes], printed


def faults_of_ours(folder):
    return [
        row
        for journal in folder.glob("run/rank-*/journal.sqlite")
        for row in sqlite3.connect(journal).execute("select unit, error from faults")
    ]
