"""What is known of a run, its child processes and its ranks: as a record, in the findings file, as the last words."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem import redaction
from premortem.amounts import stamp
from premortem.files import run_requests
from premortem.files.findings_file import FindingsFile
from premortem.findings import Finding, Severity, Where
from premortem.journal import Journal, never_fatal
from premortem.program.running import Ending
from premortem.ranks import descendants
from premortem.ranks.descendants import Descendants
from premortem.ranks.processes import LAUNCHED, Ranks, Report, rank_here, union
from premortem.run.coverage import LookedAt, looked_at
from premortem.run.going_on import going_on
from premortem.run.options import RunOptions
from premortem.run.ray_cluster import RayCluster
from premortem.terminal.console import Console

if TYPE_CHECKING:
    from premortem.run.watcher import Watcher
    from premortem.sinks.relay import Relay


class RunReport:
    """Filled while the run is set up; from then on it can be asked at any time."""

    def __init__(self, options: RunOptions, console: Console, ranks: Ranks | None) -> None:
        self.options = options
        self.console = console
        self.ranks = ranks
        self.journal: Journal | None = None
        self.watcher: Watcher | None = None
        self.relay: Relay | None = None
        self.descendants: Descendants | None = None
        self.ray: RayCluster | None = None
        self._ending: Ending | None = None
        self._started = time.time()
        self._writing = threading.RLock()  # the thread that looks at child processes writes too
        self._shown: set[tuple[str, Where]] = set()
        self._problems: dict[int, int] = {}  # sentences of each child process that were passed on
        self._rank: int | None = None
        self._again: tuple[str, str] | None = None  # a sentence and the command that resumes the run
        self._file = FindingsFile(options.findings, console.problem) if options.findings else None

    @property
    def argv(self) -> list[str]:
        flag = ["-m"] if self.options.module else []
        return [*flag, self.options.target, *self.options.argv]

    # -- what is known --------------------------------------------------------------------

    def reports(self) -> list[Report]:
        return self.descendants.reports() if self.descendants is not None else []

    def steps(self) -> int:
        return descendants.steps(self.watcher.steps if self.watcher is not None else 0, self.reports())

    def findings(self) -> list[Finding]:
        own = self.watcher.findings if self.watcher is not None else []
        reports = self.reports()
        if not reports:
            return own
        rank = rank_here()
        self._rank = self._rank if rank is None else rank  # the group may be gone at the end
        return union([({"rank": self._rank}, own), *reports])

    def looked_at(self) -> LookedAt:
        return looked_at(self.steps(), self.watcher, self.journal, self.descendants, self.ray)

    def record(self) -> dict[str, Any]:
        """The "run" of FILE.json. While it runs there is no end, and no exit code."""
        now, ending = time.time(), self._ending
        return {
            "argv": redaction.argv(self.argv),
            "started": stamp(self._started),
            "ended": stamp(now) if ending else None,
            "seconds": round(now - self._started, 3),
            "steps": self.steps(),
            "exit_code": ending.exit_code & 0xFF if ending else None,
            "reason": ending.reason if ending else "running",
            "torch": torch_version(),
            "python": platform.python_version(),
            "folder": str(self.journal.path.parent) if self.journal else None,
            "policy": self.options.policy,
            **self._quarantined(),
            "silenced": self.watcher.silenced if self.watcher is not None else 0,
            "watched": {
                **self.looked_at().to_json(),
                "children": [descendants.brief(run) for run, _ in self.reports()],
            },
        }

    # -- where it goes --------------------------------------------------------------------

    def write(self) -> None:
        with self._writing:
            if self.ranks is not None:
                self.ranks.write(self.record(), self.findings())
            elif self._file is not None:
                self._file.write(self.record(), self.findings())

    def note(self, ending: Ending) -> None:
        self._ending = ending
        if self.journal is not None:
            self.journal.note(**self.record(), error=ending.error, message=ending.message)

    def ended(self, ending: Ending) -> None:
        self._ending = ending

    def show(self, finding: Finding) -> None:
        self._shown.add((finding.code, finding.where))
        self.console.finding(finding)

    def show_children(self) -> None:
        """What child processes have found, as far as it was not shown."""
        reports = self.reports()
        if not reports:
            return
        for run, _ in reports:
            for problem in run.get("problems", ())[self._problems.get(run["pid"], 0) :]:
                self.console.problem(f"child process {run['child']}: {problem}")
            self._problems[run["pid"]] = len(run.get("problems", ()))
        for finding in self.findings():
            if (finding.code, finding.where) not in self._shown:
                if self.journal is not None:
                    self.journal.finding(finding)
                if self.relay is not None:
                    self.relay.finding(finding)
                self.show(finding)

    def sum_up(self, ending: Ending) -> None:
        folder = self.journal.path.parent if self.journal else None
        findings = self.findings()
        if self.ranks is not None:
            if LAUNCHED in os.environ or not self.ranks.speaks:
                return  # the launcher sees all ranks to their end; elsewhere the first one speaks
            self.ranks.wait()
            findings, folder = self.ranks.findings() or findings, self.ranks.folder or folder
            self.console.unsaid(findings)
        rescue = None
        with never_fatal("quarantine", self.journal):
            rescue = self._rescue()
        journal = self._where_to_read(folder) if folder is not None and folder.exists() else None
        self.console.summary(
            findings,
            self.steps(),
            journal,
            ending.reason == "stopped",
            children=len(self.reports()),
            ended=sum(run.get("reason") == "stopped" for run, _ in self.reports()),
            trials=self._to_compare(folder) if journal is not None and folder is not None else None,
            here=self.watcher is not None and self.watcher.steps > 0,
            reason=self.looked_at().reason,
            missed=self.looked_at().missed,
            silenced=self.watcher.silenced if self.watcher is not None else 0,
            left_out=self.watcher.left_out if self.watcher is not None else [],
            rescue=rescue or self._again,
        )

    def _quarantined(self) -> dict[str, Any]:
        """`quarantine`, where samples were left out or should be."""
        known = self.watcher.quarantine if self.watcher is not None else None
        if self.watcher is None or known is None or not known.samples:
            return {}
        file = str(known.file) if known.file is not None else None
        return {"quarantine": {"file": file, "left_out": self.watcher.left_out, "found": known.new}}

    def keep_quarantine(self) -> Path | None:
        """Where the samples are written down that another run should leave out; None without any."""
        if self.watcher is None or self.journal is None or not self.journal.path.parent.exists():
            return None
        return self.watcher.quarantine.write(self.journal.path.parent)

    def _rescue(self) -> tuple[str, str] | None:
        """The command that goes on without the samples that this run has found to be broken; None without any."""
        written = self.keep_quarantine()
        found = self.watcher.quarantine if self.watcher is not None else None
        if found is None or written is None or not found.new:
            return None
        own = ["premortem", "run", "--quarantine", os.path.relpath(written), *redaction.argv(self.argv)]
        return f"to go on without {found.shown()}:", shlex.join(own)

    def find_out_how_to_go_on(self, ending: Ending) -> None:
        """The command that resumes a run which a signal, a deadline or a person ended; asked before the watcher leaves."""
        safe = self.watcher.safekeeping if self.watcher is not None else None
        asked = ending.reason == "interrupted" or ending.message.startswith((run_requests.REASON, "PM328"))
        if safe is None or not asked:
            return
        script = None if self.options.module else Path(self.options.target)
        seen = safe.attachment
        models, optimizers = seen.in_training()
        keys = [seen.session.optimizers.of(each) for each in optimizers]
        scheduled = any(seen.schedulers.of_optimizer(key) for key in keys)
        found = going_on(script, self.argv, safe.scripts, safe.kept, list(models), scheduled=scheduled)
        if found is not None:
            words = ["premortem", "run", *redaction.argv([*self.options.given, *found[1]])]
            self._again = found[0], shlex.join(words)

    def _where_to_read(self, folder: Path) -> Path:
        """The journal with the steps: where only children have trained that of the child with the worst finding."""
        trained = [each for each in self.reports() if each[0]["steps"] and each[0]["folder"]]
        own = self.watcher.steps if self.watcher is not None else 0
        if not trained or own:
            return folder
        loud = list(Severity)

        def worst(each: Report) -> int:
            return min((loud.index(finding.severity) for finding in each[1]), default=len(loud))

        return Path(min(trained, key=worst)[0]["folder"])

    def _to_compare(self, folder: Path) -> Path | None:
        """The run, where several children have trained by themselves: they are the trials of a sweep."""
        alone = [run for run, _ in self.reports() if run["steps"] and run.get("rank") is None]
        return folder if len(alone) > 1 else None


def torch_version() -> str | None:
    """Of the torch that the script imported, if it did: asking must not import it."""
    version = getattr(sys.modules.get("torch"), "__version__", None)
    return None if version is None else str(version)
