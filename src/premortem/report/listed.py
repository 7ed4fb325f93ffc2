"""A run as one row of a list: few things are read of its journal, however long it was."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from premortem.amounts import count, stamp
from premortem.findings import Severity
from premortem.journal import Run
from premortem.report import finding_view, verdict

PATIENCE = 3.0  # seconds for one question to one journal
POINTS = 40  # of a sparkline
UNREADABLE = "unreadable"

Key = tuple[tuple[int, int], ...]


class Entry(NamedTuple):
    """What a journal says of its run as a whole."""

    name: str
    journal: Path
    meta: dict[str, Any]
    script: str
    started: str
    steps: int
    loss: float | None
    tone: str  # that of the verdict; UNREADABLE where there is none
    found: str
    message: str
    losses: Sequence[float] = ()  # few of them, for its sparkline
    root: str = ""  # the folder it is in, where there are several
    heard: float | None = None  # of a run on a shelf: when it was last heard of

    @property
    def running(self) -> bool:
        if self.meta.get("reason") != "running":
            return False
        if self.heard is not None:
            return time.time() - self.heard < verdict.QUIET
        return verdict.alive(self.meta, self.journal)

    @property
    def state(self) -> str:
        if self.tone == UNREADABLE:
            return UNREADABLE
        reason = str(self.meta.get("reason") or "unknown")
        return ("running" if self.running else "killed") if reason == "running" else reason


def key_of(journal: Path) -> Key:
    """Changes when something was written; empty when there is no journal."""
    found: list[tuple[int, int]] = []
    for path in (str(journal), f"{journal}-wal"):
        try:
            seen = os.stat(path)  # noqa: PTH116 - quicker, and there are many
        except OSError:
            if not found:
                return ()
            continue
        found.append((seen.st_mtime_ns, seen.st_size))
    return tuple(found)


def read(name: str, journal: Path, changed: float) -> Entry:
    """Few rows, however long the run was. What cannot be read says so in its place."""
    try:
        with Run(journal, PATIENCE) as run:
            meta, newest, found = run.meta, run.newest(), finding_view.roots(run)
            losses = [loss for loss in run.losses(POINTS) if loss is not None and math.isfinite(loss)]
        heaviest = found[0] if found else None
        severity = heaviest.severity if heaviest is not None else None
        tones = {Severity.ERROR: "bad", Severity.WARNING: "doubtful"}
        tone = tones.get(severity, "good") if severity is not None else "good"
        crashed = tone == "good" and meta.get("reason") == "crashed"
        argv = [str(word) for word in meta.get("argv") or ["?"]]
        return Entry(
            name=name,
            journal=journal,
            meta=meta,
            script=" ".join(argv),
            started=str(meta.get("started") or stamp(changed)),
            steps=max(int(meta.get("steps") or 0), newest.step if newest is not None else 0),
            loss=newest.loss if newest is not None else None,
            tone="doubtful" if crashed else tone,
            found=count(len(found), "finding") if found else "",
            message=heaviest.message if heaviest is not None else _ending(meta, journal),
            losses=losses,
        )
    except Exception as error:  # noqa: BLE001 - a journal from elsewhere costs its own row, and no other
        return Entry(name, journal, {}, "", stamp(changed), 0, None, UNREADABLE, "", str(error))


def _ending(meta: dict[str, Any], journal: Path) -> str:
    return "" if meta.get("reason") in {"running", "finished"} else verdict.ending(meta, journal)
