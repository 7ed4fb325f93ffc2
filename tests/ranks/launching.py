"""Two ranks under `premortem run`, as torchrun starts them, without torchrun's own start-up time."""

import json
import os
import socket
import sqlite3
import sys
from pathlib import Path

import premortem
from tests import starting

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


def started(folder, command, ranks=2, timeout=60, fresh=False):
    """The exit codes of a command that is run on each rank, and what was printed. A fork has more of torch loaded than a
    `fresh` process."""
    common = {
        **os.environ,
        "PYTHONPATH": SRC,
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
    }
    environments = [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(ranks)]
    told = starting.together(command, cwd=folder, environments=environments, timeout=timeout, fresh=fresh)
    return [code for code, _ in told], [printed for _, printed in told]


def faults_of_ours(folder):
    return [
        row
        for journal in folder.glob("run/rank-*/journal.sqlite")
        for row in sqlite3.connect(journal).execute("select unit, error from faults")
    ]
