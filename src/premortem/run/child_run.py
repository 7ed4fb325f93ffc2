"""A process that a watched run has started has begun to train: from here on it is watched.

Like `premortem run`, without a word to the terminal and without a signal of its own: exit codes, signals and what is
printed belong to the script that started it. What is found goes to a folder in the run's, where `ranks/descendants.py` reads it.
"""

from __future__ import annotations

import atexit
import functools
import io
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from premortem.errors import STOPPED
from premortem.files.findings_file import FindingsFile
from premortem.files.libraries import is_library
from premortem.journal import claim_folder, never_fatal
from premortem.program.running import Ending, forget_our_frames
from premortem.ranks.descendants import child_folder
from premortem.ranks.processes import FILE, rank_here
from premortem.run.options import RunOptions
from premortem.run.run_report import RunReport
from premortem.run.supervision import Supervision
from premortem.run.watcher import abandon_others, watched
from premortem.settings import Shared
from premortem.startup.children import Family
from premortem.terminal.console import Console

_LENGTH = 60  # of the name that a child has in findings


def begin(family: Family) -> None:
    """At the first sign of training. Raises what keeps the process from being watched."""
    abandon_others()
    if watched():
        return  # the script watches itself
    order = json.loads(family.order.split("\n", 2)[2])
    here = ChildSupervision(Path(order["folder"]), order["policy"], Shared.from_json(order["settings"]))
    here.begin_here()
    _here.append(here)


def conclude() -> None:
    """Say the last words now: this process will be ended without being asked."""
    for here in _here:
        here._over()  # noqa: SLF001 - as at the end of the process


_here: list[ChildSupervision] = []


class _Silent(Console):
    """Keeps what it should say, for the process that speaks."""

    def __init__(self) -> None:
        super().__init__(quiet=True, stream=io.StringIO())
        self.problems: list[str] = []

    def problem(self, sentence: str) -> None:
        self.problems.append(sentence)


class ChildReport(RunReport):
    """Goes to a folder in the run's."""

    console: _Silent
    folder: Path | None = None
    _name = ""

    def begin(self, folder: Path) -> None:
        self.folder = folder
        self._rank = rank_here()
        named = [part for part in folder.parts if part.startswith(("child-", "rank-"))]
        number = named[-1].rpartition("-")[2] if named else ""
        self._name = f"{number} ({label()})"

    def write(self) -> None:
        if self.folder is not None:
            FindingsFile(self.folder / FILE, self.console.problem).write(self.record(), self.findings())

    def record(self) -> dict[str, Any]:
        rank = rank_here()
        self._rank = self._rank if rank is None else rank  # the group may be gone at the end
        return {
            **super().record(),
            "child": self._name,
            "rank": self._rank,
            "pid": os.getpid(),
            "problems": list(self.console.problems),
        }


class ChildSupervision(Supervision):
    """All that accompanies one child."""

    def __init__(self, folder: Path, policy: str, settings: Shared) -> None:
        target, *argv = sys.argv or [""]
        spec = getattr(sys.modules.get("__main__"), "__spec__", None)
        self._silent = _Silent()
        options = RunOptions(
            target=target if spec is None else spec.name,
            module=spec is not None,
            argv=argv,
            policy=policy,
            quiet=True,
            status=False,
            settings=settings,
        )
        super().__init__(options, self._silent, alone=True)
        self._run = folder

    def _make_report(self) -> ChildReport:
        self._child = ChildReport(self.options, self._silent, None)
        return self._child

    def begin_here(self) -> None:
        self._child.begin(self._claim_own())
        self._open_journal(Path(self.options.target).stem or "child")
        self._start_watching()
        with never_fatal("findings", self.journal):
            self.report.write()
        with never_fatal("child", self.journal):
            self._hide_our_frames()
            self._end_with_the_process()

    def _claim_own(self) -> Path:
        rank = rank_here()
        if rank is not None:
            return claim_folder(self._run / f"rank-{rank}")
        return claim_folder(child_folder(self._run))

    def _claim(self, chosen: Path | None, name: str) -> Path:
        return self._child.folder or super()._claim(chosen, name)

    @property
    def _command(self) -> list[str]:
        """A process of multiprocessing has its parent's command, and does something else. The program of a library (a worker of
        Ray's) does what another process asks of it."""
        main = str(getattr(sys.modules.get("__main__"), "__file__", None) or "")
        script = Path(self.options.target).is_file() or self.options.module
        again = script and not _of_multiprocessing() and not is_library(str(Path(main).absolute()))
        return self.report.argv if again else []

    # --- the end -----------------------------------------------------------------------------

    def _end_with_the_process(self) -> None:
        atexit.register(self._over)
        util = sys.modules.get("multiprocessing.util")
        if util is not None:  # its processes end without `atexit`
            util.Finalize(None, self._over, exitpriority=100)

    def _over(self) -> None:
        with never_fatal("child", self.journal):
            decided = self.watcher.stopping if self.watcher is not None else None
            if decided is not None:
                ending = Ending(reason="stopped", exit_code=STOPPED, message=f"{decided.code} {decided.name}")
            else:
                ending = ending_of(sys.exc_info()[1] or getattr(sys, "last_value", None))
            self._say_last_words(ending)

    def _hide_our_frames(self) -> None:
        """Python prints what is not caught by itself here; in the script's own process `program.show` does."""
        before = sys.excepthook

        def excepthook(kind: Any, error: BaseException, trace: Any) -> None:
            forget_our_frames(error)
            before(kind, error, error.__traceback__)

        sys.excepthook = excepthook
        original = traceback.TracebackException.__init__

        @functools.wraps(original)
        def __init__(shown: Any, kind: Any, error: Any, trace: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            if isinstance(error, BaseException) and trace is error.__traceback__:
                forget_our_frames(error)
                trace = error.__traceback__
            original(shown, kind, error, trace, *args, **kwargs)

        told: Any = traceback.TracebackException
        told.__init__ = __init__


def label() -> str:
    """What a person calls this process."""
    if _of_multiprocessing():
        return str(sys.modules["multiprocessing.process"].current_process().name)[:_LENGTH]
    words = [Path(sys.argv[0]).name] if sys.argv and sys.argv[0] else ["python"]
    for word in sys.argv[1:]:
        if word.startswith("-") or "=" in word:
            break  # values of options may be passwords
        words.append(word)
    return " ".join(words)[:_LENGTH]


def _of_multiprocessing() -> bool:
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.parent_process() is not None


def ending_of(error: BaseException | None) -> Ending:
    """How a process ended that this exception ends; None for none."""
    if isinstance(error, SystemExit) and isinstance(error.__context__, Exception):
        error = error.__context__  # torch's spawned processes end so, after they have written it down
    if error is None or isinstance(error, SystemExit):
        code = getattr(error, "code", 0)
        number = code if isinstance(code, int) else 1 if code else 0
        return Ending(reason="exited" if number else "finished", exit_code=number)
    sys.last_value = error  # where detectors look for it
    reason = "interrupted" if isinstance(error, KeyboardInterrupt) else "crashed"
    return Ending(reason=reason, exit_code=1, error=type(error).__name__, message=str(error)[:2000])
