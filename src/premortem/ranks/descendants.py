"""Processes that the script has started and that train: where each writes, and what they found, as this run's.

    RUN/journal.sqlite           of the script's own process
        child-1/journal.sqlite   of a child that trains by itself, with its findings.json
        rank-0/...               of a child that is one of several ranks

They say nothing themselves: what they print is read by the script, perhaps. A thread of the first process looks at their
files, and tells what is new. How they are reached is in `startup/children.py`, what runs in them in `run/child_run.py`.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem.journal.write import PAUSE
from premortem.ranks import processes
from premortem.startup.children import Family

KINDS = ("rank", "child")
_PERIOD = 0.5  # seconds between two looks


class Descendants:
    """Of one run."""

    def __init__(self, folder: Path, policy: str, settings: dict[str, Any], news: Callable[[], None]) -> None:
        self.folder = folder
        self.started = False  # a process that may be watched
        self.from_inside = False  # the script has at hand what watches workers from inside
        self.elsewhere = ""  # where to look for what was trained by processes that are watched from inside
        self.outside = False  # this process has trained between its trials, or after them
        self.order = order(folder, policy, settings)
        self._family = Family(self.order)
        self._news = news
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._seen: dict[Path, int] = {}
        self._newest: dict[Path, int] = {}  # steps of processes that have not ended by themselves
        self._pid = os.getpid()

    def follow(self) -> None:
        self._family.on_start = self.one_more
        self._family.hand_on()

    def close(self) -> None:
        """Tell no process any more, and look no more: whoever asks after this reads all there is."""
        self._family.stand_down()
        if any(run.get("reason") == "running" for run, _ in self.reports()):
            time.sleep(2 * PAUSE)  # workers of Ray's live longer than the script, and write their last steps
        self._over.set()

    def reports(self) -> list[processes.Report]:
        if not self.started:
            return []
        found = processes.read(self.folder, *KINDS)
        if self._over.is_set():
            found = [(self._to_its_last_step(run), findings) for run, findings in found]
        return sorted(found, key=lambda each: (each[0].get("rank") or 0, str(each[0].get("started"))))

    def _to_its_last_step(self, run: dict[str, Any]) -> dict[str, Any]:
        if run.get("reason") != "running" or not run.get("folder"):
            return run
        folder = Path(run["folder"])
        if folder not in self._newest:
            self._newest[folder] = processes.newest_step(folder)
        return {**run, "steps": max(int(run["steps"]), self._newest[folder])}

    def unwatched(self) -> list[str]:
        """Processes that may have trained, and that could not be looked at, each with its reason."""
        isolated = [f"{words} (it does not read PYTHONPATH)" for words in self._family.unwatched]
        failed = []
        for path in self.folder.glob("unwatched-*.txt") if self.started else ():
            with suppress(OSError):
                failed.append(path.read_text(encoding="utf-8"))
        return [*failed, *isolated]

    def one_more(self) -> None:
        """Something that may train has begun."""
        self.started = True
        if self._thread is None and not self._over.is_set():
            self._thread = threading.Thread(target=self._look, name="premortem-children", daemon=True)
            with suppress(RuntimeError):  # the interpreter is going down
                self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(_PERIOD):
            if self._has_news():
                self._news()

    def _has_news(self) -> bool:
        found: dict[Path, int] = {}
        for path in (path for kind in KINDS for path in processes.files(self.folder, kind)):
            with suppress(OSError):
                found[path] = path.stat().st_mtime_ns
        news = found != self._seen
        self._seen = found
        return news


def child_folder(run: Path) -> Path:
    """A new one in the folder of the run."""
    number = 1
    while True:
        folder = run / f"child-{number}"
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder


def order(folder: Path, policy: str, settings: dict[str, Any]) -> str:
    """What a process is given that is to be watched as a part of the run in this folder."""
    facts = json.dumps({"folder": str(folder), "policy": policy, "settings": settings})
    return f"{sys.prefix}\n{sys.version_info[0]}.{sys.version_info[1]}\n{facts}"


def steps(own: int, every: list[processes.Report]) -> int:
    """Ranks make the same steps; children that train by themselves make steps of their own."""
    of_ranks = [int(run["steps"]) for run, _ in every if run.get("rank") is not None]
    alone = [int(run["steps"]) for run, _ in every if run.get("rank") is None]
    return max([own, *of_ranks]) + sum(alone)


def brief(run: dict[str, Any]) -> dict[str, Any]:
    """A child in the record of its run."""
    told = ("child", "rank", "pid", "steps", "reason", "seconds", "folder")
    return {name: run.get(name) for name in told}


def stopped(every: list[processes.Report]) -> dict[str, Any] | None:
    """A child that premortem has stopped."""
    return next((run for run, _ in every if run.get("reason") == "stopped"), None)
