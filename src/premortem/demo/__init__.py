"""`premortem demo`: a bug that raises nothing, found; its fixed twin, left in peace."""

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console as Terminal
from rich.text import Text

from premortem.errors import MissingExtra
from premortem.journal.folders import HOME

SCRIPTS = Path(__file__).parent / "scripts"
PATIENCE = 20.0  # seconds that an interrupted run has for its last words
BUGGY, FIXED = "finetune.py", "finetune_fixed.py"


def show() -> int:
    """Run both scripts and say what is seen; 0 when premortem found the one bug and nothing else."""
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("the demo", "torch")
    # A folder of its own among the temporary ones: what the demo says about its runs can be followed after it.
    return _tell(Path(tempfile.mkdtemp(prefix="premortem-demo-")))


def _tell(folder: Path) -> int:
    _say(
        f"1. {BUGGY} fine-tunes a small network on new classes. It has a bug, and nothing tells:",
        "no exception, no warning, and the loss falls.",
    )
    found = _run(BUGGY, folder)
    if not any(finding["severity"] == "error" for finding in found):
        _say("premortem did not find the bug. That is a bug of its own: please report it.")
        return 1
    _say(f"2. {FIXED} has two lines in the other order. A healthy run is left in peace.")
    loud = [finding for finding in _run(FIXED, folder) if finding["severity"] != "info"]
    if loud:
        _say("premortem complained about a healthy run. That is a bug of its own: please report it.")
        return 1
    runs = sorted((folder / HOME / "runs").glob(f"*-{Path(BUGGY).stem}-*"))
    if runs:
        _say("The report of the first run, with its curves:")
        _show(f"$ premortem report {runs[0]}")
    _say("That is all there is to it. Put it in front of your own command:")
    _say("$ premortem run train.py --your --options")
    return 0


def _run(script: str, folder: Path) -> list[dict[str, Any]]:
    """`premortem run SCRIPT` as a user would call it; returns the findings."""
    shutil.copy(SCRIPTS / script, folder)
    report = folder / f"{script}.json"
    _say(f"$ premortem run {script}")
    command = [sys.executable, "-m", "premortem", "run", "--findings", report.name, script]
    with subprocess.Popen(command, cwd=folder) as process:
        try:
            process.wait()
        except KeyboardInterrupt:  # the run has heard it too: it is given the time for its last words
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
            process.kill()
            raise
    findings: list[dict[str, Any]] = json.loads(report.read_text())["findings"] if report.exists() else []
    return findings


def _say(*sentences: str) -> None:
    _show(textwrap.fill(" ".join(sentences), min(Terminal().width, 100)))


def _show(text: str) -> None:
    """Not wrapped by the terminal: a command is copied."""
    Terminal(highlight=False).print(Text(f"\n{text}", "bold"), soft_wrap=True)
