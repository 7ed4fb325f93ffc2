"""Plain `torch.load` in a script under `premortem run`: which flipped bits are told, and what the looking costs."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from checkpoint.flips import flip

_AT_ONCE = 84  # files that one script loads
_LONG_AGO = 1_700_000_000  # when the disk turned the bit over, nobody was writing

_LOADS = """
import json, pathlib, sys
import torch
sys.path.insert(0, {bench!r})
from checkpoint.flips import same
whole = torch.load("whole.pt", weights_only=True)
fates = {{}}
def fate(name, load):
    try:
        fates[name] = "same" if same(load(), whole) else "other"
    except Exception:
        fates[name] = "raised"
{lines}
pathlib.Path("fates.json").write_text(json.dumps(fates))
"""
# A report has one finding for each line of the script.
_LINE = 'fate("{name}", lambda: torch.load("damaged/{name}", weights_only=True))'

_TIMES = """
import json, pathlib, sys, time
import torch
torch.set_num_threads({cores})
state = {{f"layer{{n}}": torch.randn(1024, 1024) for n in range({layers})}}
torch.save(state, "large.pt")
plain = torch.load
while hasattr(plain, "__wrapped__"):
    plain = plain.__wrapped__
theirs, ours = [], []
for number in range({rounds} + 1):
    for load, times in ((plain, theirs), (torch.load, ours)):
        began = time.perf_counter()
        state = load("large.pt", weights_only=True)
        took = time.perf_counter() - began
        time.sleep(4 * took)  # what still looks at the file must not slow down the next turn
        if number:  # the first turn fills the page cache
            times.append(took)
pathlib.Path("times.json").write_text(json.dumps([theirs, ours]))
"""


def under_run(code: str, folder: Path) -> set[str]:
    """Runs a script in the folder; returns the files that were said to be damaged."""
    (folder / "script.py").write_text(code, encoding="utf-8")
    shutil.rmtree(folder / "run", ignore_errors=True)
    command = [sys.executable, "-m", "premortem", "run", "--quiet", "--folder", "run", "script.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    with closing(sqlite3.connect(folder / "run" / "journal.sqlite")) as journal:
        assert not journal.execute("select * from faults").fetchall()
        rows = journal.execute("select record from findings where code = 'PM343'").fetchall()
    return {Path(json.loads(record)["evidence"]["path"]).name for (record,) in rows}


def flips_on_load(times: int, whole: Path, dice: random.Random) -> dict[str, Any]:
    """A flip counts as caught when premortem tells it, or torch.load raises, or gives the very tensors that were saved:
    then the bit was in nothing that is read."""
    folder = whole.parent / "watched"
    folder.mkdir()
    shutil.copy(whole, folder / "whole.pt")
    counts: Counter[str] = Counter()
    for begin in range(0, times, _AT_ONCE):
        shutil.rmtree(folder / "damaged", ignore_errors=True)
        (folder / "damaged").mkdir()
        lines = []
        for number in range(begin, min(begin + _AT_ONCE, times)):
            file = folder / "damaged" / f"{number:04d}.pt"
            shutil.copy(whole, file)
            flip(file, dice)
            os.utime(file, (_LONG_AGO, _LONG_AGO))
            lines.append(_LINE.format(name=file.name))
        bench = str(Path(__file__).parent.parent)
        told = under_run(_LOADS.format(bench=bench, lines="\n".join(lines)), folder)
        fates = json.loads((folder / "fates.json").read_text())
        counts["flips"] += len(fates)
        counts["told"] += len(told)
        counts["not told, torch.load raised"] += sum(
            fate == "raised" and name not in told for name, fate in fates.items()
        )
        counts["not told, in nothing that is read"] += sum(
            fate == "same" and name not in told for name, fate in fates.items()
        )
        counts["silent"] += sum(fate == "other" and name not in told for name, fate in fates.items())
        counts["torch.load silent"] += sum(fate == "other" for fate in fates.values())
    return {"caught": counts["flips"] - counts["silent"], **counts}


def load_under_run(mebibytes: int, rounds: int, scratch: Path) -> tuple[list[float], list[float]]:
    """Seconds of a plain torch.load and of one that is watched, in turns."""
    folder = scratch / "watched"
    folder.mkdir()
    code = _TIMES.format(cores=os.cpu_count() or 1, layers=mebibytes // 4, rounds=rounds)
    told = under_run(code, folder)
    assert not told, told
    theirs, ours = json.loads((folder / "times.json").read_text())
    return theirs, ours
