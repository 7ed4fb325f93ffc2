"""A run of many processes: which of them this is, where each writes, and what all of them found, as one.

    .premortem/runs/RUN/rank-0/journal.sqlite   each rank has a journal of its own
                        rank-0/findings.json    and says what it has found so far
                        rank-0/run-2/...        the same of its next attempt, after torchrun has restarted the ranks
                        rank-1/...
                        findings.json           all of it, merged: whoever has news writes it, under a lock

Files and no messages: a rank that was killed leaves what it wrote, and no rank waits for it. Attempts of one launch are one
run: what an earlier one has found stands, and how the run ended is what the last one says.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from premortem import detectors
from premortem.cards import identity
from premortem.derived.folding import fold
from premortem.errors import STOPPED, JournalError
from premortem.files import private
from premortem.files.findings_file import FindingsFile
from premortem.files.untrusted import loads, read_text
from premortem.findings import Certainty, Finding, Severity
from premortem.journal import Run, schema

LAUNCHED = "PREMORTEM_LAUNCHED"  # set by `premortem run --nproc`, which then says the last words itself
FILE = "findings.json"
_PATIENCE = 3.0  # seconds, at the end, for ranks of this machine that are about to end too
_SURE = list(Certainty)
_LOUD = list(Severity)


class Place(NamedTuple):
    """Which of several processes this is, as torchrun and its like tell it."""

    rank: int
    world: int
    nearby: int  # processes on this machine


def place(environ: Mapping[str, str]) -> Place | None:
    """None when this process is the whole run. Under `srun` it is a task of SLURM's, until the script says otherwise."""
    if (
        "RANK" not in environ and "SLURM_STEP_ID" in environ
    ):  # not in the job's own script, which is one process
        names = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE")
    else:
        names = ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
    rank, world, nearby = names
    try:
        found = Place(
            int(environ[rank]),
            int(environ[world]),
            int(
                environ.get(nearby, environ[world]).partition("(")[0].partition(",")[0]
            ),  # `4(x2)`: on each of two nodes
        )
    except (KeyError, ValueError):
        return None
    return found if found.world > 1 else None


def rank_here() -> int | None:
    """Which rank this process is: by its environment, or by the process group that it has joined. None when it is alone."""
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        return int(dist.get_rank()) if dist.get_world_size() > 1 else None
    mine = place(os.environ)
    return None if mine is None else mine.rank


def attempt(environ: Mapping[str, str]) -> int:
    """How often torchrun has started the ranks anew, or SLURM the job."""
    count = environ.get("TORCHELASTIC_RESTART_COUNT") or environ.get("SLURM_RESTART_COUNT", "0")
    return int(count) if count.isdigit() else 0


class Ranks:
    """The ranks of one launch that write into the same folder."""

    def __init__(self, mine: Place, findings: Path | None, on_problem: Callable[[str], None]) -> None:
        self.mine = mine
        self._launch = launch()  # now: the script may set variables of its own
        self._on_problem = on_problem
        self._asked_for = FindingsFile(findings, on_problem) if findings else None
        self.folder: Path | None = None  # of the run, once it was made
        self.own: Path | None = None  # of this rank, and of this attempt, in it

    @property
    def speaks(self) -> bool:
        return self.mine.rank == 0

    def write(self, run: dict[str, Any], findings: Sequence[Finding]) -> None:
        """What this rank found, and with it what all have found."""
        if (
            self.folder is None or self.own is None
        ):  # no folder, so no other rank to merge with: the first rank speaks for itself
            if self._asked_for is not None and self.speaks:
                self._asked_for.write(run, findings)
            return
        FindingsFile(self.own / FILE, self._on_problem).write(
            {**run, "launch": self._launch, "rank": self.mine.rank, "attempt": attempt(os.environ)}, findings
        )
        with locked(self.folder):
            merge = merged(self.folder)
            for file in (FindingsFile(self.folder / FILE, self._on_problem), self._asked_for):
                if file is not None and merge is not None:
                    file.write(*merge)

    def wait(self) -> None:
        """For ranks nearby to have written their results; not for long, as they may never do so."""
        until = time.monotonic() + _PATIENCE
        while self.folder is not None and time.monotonic() < until:
            ended = [run for run, _ in latest(reports(self.folder)) if run.get("ended")]
            if len(ended) >= self.mine.nearby:
                return
            time.sleep(0.05)

    def findings(self) -> list[Finding] | None:
        merge = merged(self.folder) if self.folder is not None else None
        return None if merge is None else merge[1]


def launch() -> str:
    """The same for all ranks that one torchrun, or one `srun`, has started, and for no others."""
    return job(os.environ) or f"{os.getppid()}-{_started(os.getppid())}"


def job(environ: Mapping[str, str]) -> str:
    """The name of what started ranks that have no parent in common: on several machines, or tasks of `srun`. "" elsewhere."""
    mine = place(environ)
    if mine is None or (mine.nearby == mine.world and "RANK" in environ):
        return ""
    named = [environ[name] for name in ("SLURM_JOB_ID", "SLURM_STEP_ID") if environ.get(name)]
    elastic = environ.get("TORCHELASTIC_RUN_ID", "none")
    return "-".join([*named, elastic] if elastic != "none" else named)


def folder_name(script: str) -> str:
    """The same for all ranks of a launch."""
    named = job(os.environ)
    return f"{script}-{named}" if named else f"{stamp()}-{script}-{os.getppid()}"


def _started(pid: int) -> int:
    """When a process came into being, in the kernel's ticks; 0 where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[19])
    except (OSError, ValueError, IndexError):
        return 0


def stamp() -> str:
    """When the launcher was started, in the form of a run's folder; today, where that cannot be known."""
    ticks = _started(os.getppid())
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/stat").read_text().splitlines()
        boot = int(next(line for line in lines if line.startswith("btime")).split()[1])
        if ticks:
            started = boot + ticks / os.sysconf("SC_CLK_TCK")
            return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(started))
    return time.strftime("%Y%m%d", time.gmtime())


# --- merging ---------------------------------------------------------------------------------


Report = tuple[dict[str, Any], list[Finding]]


def reports(folder: Path) -> list[Report]:
    """What each rank of the newest launch has written, in every attempt; by attempt and rank."""
    found = [each for each in read(folder, "rank") if {"launch", "started", "rank"} <= set(each[0])]
    if not found:
        return []
    newest = max(found, key=lambda each: str(each[0]["started"]))[0]["launch"]
    same = [each for each in found if each[0]["launch"] == newest]
    return sorted(same, key=lambda each: (each[0].get("attempt", 0), each[0]["rank"]))


def read(folder: Path, *kinds: str) -> list[Report]:
    """What processes have written into their own folders, `KIND-NUMBER` and `KIND-NUMBER/run-2` in this one."""
    found = []
    for path in [path for kind in kinds for path in files(folder, kind)]:
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            record = loads(read_text(path))
            run = record["run"]
            numbers = {name: int(run[name]) for name in ("rank", "attempt") if run.get(name) is not None}
            names = {name: str(run[name]) for name in ("launch", "started") if name in run}
            findings = [Finding.from_json(each) for each in record["findings"]]
            found.append(({**run, **numbers, **names}, findings))
    return found


def files(folder: Path, kind: str) -> list[Path]:
    return [*folder.glob(f"{kind}-*/{FILE}"), *folder.glob(f"{kind}-*/run-*/{FILE}")]


def newest_step(folder: Path) -> int:
    """By the journal: what a process that is still there, or was killed, wrote about itself is from its beginning."""
    with suppress(JournalError), Run(folder / schema.FILE) as run:
        newest = run.newest()
        return newest.step if newest is not None else 0
    return 0


def latest(every: Sequence[Report]) -> list[Report]:
    """The ranks as they are now: those of the last attempt."""
    return [each for each in every if each[0].get("attempt", 0) == every[-1][0].get("attempt", 0)]


def merged(folder: Path) -> tuple[dict[str, Any], list[Finding]] | None:
    """One record and one set of findings, each with the ranks that saw it."""
    every = reports(folder)
    if not every:
        return None
    now = [run for run, _ in latest(every)]
    shown = {name: value for name, value in now[0].items() if name not in {"launch", "rank", "attempt"}}
    told = ("rank", "exit_code", "reason", "steps", "seconds", "folder")
    record = {
        **shown,
        "started": every[0][0]["started"],
        "exit_code": exit_code(now),
        "folder": str(folder),
        "restarts": now[0].get("attempt", 0),
        "ranks": [{name: run.get(name) for name in told} for run in now],
    }
    return record, union(every)


def union(every: Sequence[Report]) -> list[Finding]:
    """What all processes have found: one finding for what several saw, with the ranks, or the children, that saw it."""
    cards = {cls.card.code: cls.card for cls in detectors.ALL}
    seen: dict[Any, tuple[Finding, list[int], list[str]]] = {}
    for run, findings in every:
        for finding in findings:
            same = identity(finding, cards.get(finding.code))
            first, ranks, children = seen.get(same, (finding, [], []))
            seen[same] = (_louder(first, finding), ranks, children)
            if run.get("rank") is not None:
                ranks.append(run["rank"])
            elif run.get("child"):
                children.append(run["child"])
    found = [_seen_by(finding, ranks, children) for finding, ranks, children in seen.values()]
    return fold(_one_refusal(_without_received(found)), cards)


def _seen_by(finding: Finding, ranks: Sequence[int], children: Sequence[str]) -> Finding:
    if ranks and "ranks" not in finding.evidence:
        finding = finding.with_evidence(ranks=sorted(set(ranks)))
    if children:  # first, as only the first few pieces of evidence are shown
        processes = list(dict.fromkeys(children))
        told = processes[0] if len(processes) == 1 else processes
        finding = replace(finding, evidence={"child_process": told, **finding.evidence})
    return finding


def _without_received(findings: list[Finding]) -> list[Finding]:
    """Gradients are averaged: one rank's NaN reaches all. Those that only received it say so, and are not believed
    when another rank has seen where it came from."""
    received = [
        f for f in findings if f.name == "masked-non-finite" and "ranks" in f.evidence and not _origin(f)
    ]
    sources = [f for f in findings if f.family.startswith("numerics") and f not in received and f.where.file]
    return [f for f in findings if f not in received] if sources else findings


def _one_refusal(findings: list[Finding]) -> list[Finding]:
    """Ranks that hold pieces of the same model refuse a step together. Who saw where it came from tells it for all; if
    none did, who has the parameter."""
    refused = [f for f in findings if f.name == "update-refused" and "ranks" in f.evidence]
    known: dict[int, Finding] = {}
    for finding in refused:
        if _knowledge(finding) > (_knowledge(known[finding.step]) if finding.step in known else 0):
            known[finding.step] = finding
    echoes = [f for f in refused if f.step in known and _knowledge(f) < _knowledge(known[f.step])]
    if not echoes:
        return findings
    ranks = {
        step: sorted({r for f in refused if f.step == step for r in f.evidence["ranks"]}) for step in known
    }
    return [
        f.with_evidence(
            ranks=ranks[f.step], **({"origin_on": f.evidence["ranks"]} if f.evidence.get("op") else {})
        )
        if f is known.get(f.step)
        else f
        for f in findings
        if f not in echoes
    ]


def _knowledge(refusal: Finding) -> int:
    """How much it says about what was refused: the operation, a parameter, or nothing."""
    return 2 if refusal.evidence.get("op") else 1 if refusal.where.parameter else 0


def _origin(finding: Finding) -> bool:
    return bool(finding.evidence.get("origin") or finding.evidence.get("masked_by"))


def _louder(one: Finding, other: Finding) -> Finding:
    """The same diagnosis, seen by two ranks: as early, as sure and as loud as either."""
    best = min(one, other, key=lambda f: (_LOUD.index(f.severity), _SURE.index(f.certainty)))
    return replace(best, step=min(one.step, other.step))


def exit_code(runs: Sequence[Mapping[str, Any]]) -> int | None:
    """Of all ranks together: premortem's own when it stopped one, otherwise the first that is not a success."""
    codes = [run.get("exit_code") for run in runs]
    if any(run.get("reason") == "stopped" for run in runs):
        return STOPPED
    if None in codes:
        return None
    return next((int(code) for code in codes if code), 0)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One writer at a time, so that the last one has read all others. Without locks (Windows, some network disks) the last
    one wins."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    # Not through a link, and without emptying it: in a folder that others can write to, it need not be ours.
    file = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, private.FILE)
    try:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
