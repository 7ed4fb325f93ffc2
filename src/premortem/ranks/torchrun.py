"""`premortem run --nproc N`: torchrun starts premortem in every rank; this waits for its end and reports it once."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from premortem.amounts import few
from premortem.errors import STOPPED, MissingExtra, UsageError
from premortem.journal.folders import default_folder
from premortem.ranks import processes
from premortem.terminal.console import Console

# Else ranks that are started again find the addresses of those before them in torchrun's store, and call the dead.
_STORE_OF_ITS_OWN = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
_NAMED = 4  # ranks that were killed
WORDS = ("gpu", "cpu", "auto", "xpu")  # torchrun counts them itself


def run(
    nproc: str,
    restarts: str,
    own: Sequence[str],
    program: Sequence[str],
    folder: Path | None,
    *,
    quiet: bool,
    autopsy: Callable[[Path], None] | None = None,
) -> int:
    """`own` are premortem's options without those of torchrun; `program` is the script with its arguments.

    `autopsy` is given the folder of a run that premortem has stopped."""
    if not restarts.isdigit():
        raise UsageError(f"`--max-restarts {restarts}` is not a number")
    if nproc not in WORDS and not (nproc.isdigit() and int(nproc) > 0):
        raise UsageError(f"`--nproc {nproc}` is not a number of processes; give a number, or `gpu`")
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("`premortem run --nproc`", "torch")
    name = Path(next(word for word in program if word != "-m")).stem
    shared = folder if folder is not None else default_folder(name)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={nproc}"]
    command += [f"--max-restarts={restarts}"] if restarts != "0" else []
    command += ["-m", "premortem", "run", *own, *([] if folder else ["--folder", str(shared)]), *program]
    variables = {_STORE_OF_ITS_OWN: "1", **os.environ, processes.LAUNCHED: str(os.getpid())}
    process = subprocess.Popen(command, env=variables)
    interrupted = False
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:  # the terminal has interrupted torchrun too, which ends the ranks
            interrupted = True
    code = conclude(shared.absolute(), code, Console(quiet))
    if autopsy is not None and code == STOPPED and not interrupted:
        autopsy(shared.absolute())
    if interrupted:
        sys.excepthook = lambda *_: None
        raise KeyboardInterrupt
    return code


def conclude(folder: Path, code: int, console: Console) -> int:
    """The last words about all ranks, and the exit code of the run."""
    with processes.locked(folder):
        merge = processes.merged(folder)
    if merge is None:
        return code
    record, findings = merge
    console.unsaid(findings)
    stopped = record["exit_code"] == STOPPED
    looked_at = record.get("watched") or {}
    steps, reason = record["steps"], looked_at.get("reason") or ""
    missed = list(looked_at.get("missed", ()))
    killed = [run for run in record["ranks"] if run["reason"] == "running"]
    if killed:  # what such a rank wrote about itself is from its beginning
        steps = max(steps, *(processes.newest_step(Path(run["folder"])) for run in killed))
        who = few([f"rank {run['rank']}" for run in killed], _NAMED, " and ")
        reason = f"{who} ended without a word: killed, or the machine went down"
        missed += [f"how {who} ended: killed, or the machine went down"] if steps else []
    console.summary(findings, steps, folder, stopped, reason=reason, missed=missed)
    # A rank that was killed has no exit code of its own: then torchrun's stands.
    return int(record["exit_code"] or code)
