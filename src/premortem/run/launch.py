"""`premortem run`: the user's program in this process, watched, with nothing else changed.

    check the program          bad input ends here, in one sentence
    journal, findings file     trouble with either is one sentence; the run goes on
    watcher, tee, signals      on
    the program                from its first line to its last
    last words                 however it ended: detectors, findings file, journal

A bug of premortem in any of these is written to the journal, and the program does not notice.
"""

from __future__ import annotations

import atexit
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem import __version__, redaction
from premortem.errors import STOPPED, Stopped, UsageError
from premortem.events import Autopsied, LogLine, RunEnded, RunStarted
from premortem.files import trust
from premortem.files.findings_file import FindingsFile
from premortem.findings import Finding, Where
from premortem.journal import Journal, claim_folder, default_folder, never_fatal, rank_folder
from premortem.program.running import Ending, Program
from premortem.ranks import descendants
from premortem.ranks.descendants import Descendants
from premortem.ranks.processes import LAUNCHED, Ranks, Report, place, rank_here, stamp, union
from premortem.replay.beside import Autopsies
from premortem.run.coverage import LookedAt, looked_at
from premortem.run.environment import revision
from premortem.run.termination import Termination
from premortem.settings import Shared, Silence
from premortem.startup.children import family
from premortem.terminal.console import Console
from premortem.terminal.printed_lines import Tee

if TYPE_CHECKING:
    from premortem.run.status import RunStatus
    from premortem.run.watcher import Audience, Watcher
    from premortem.sinks.base import Sink
    from premortem.sinks.relay import Relay
    from premortem.vault.deadline import Deadline
    from premortem.vault.mirror import Mirror

USAGE_ERROR = 2
# Seconds for which an autopsy is waited for, when all is over.
AUTOPSY = {"finished": 45.0, "exited": 45.0, "crashed": 45.0, "stopped": 60.0}
_CONFIGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini")
# Seconds for which a mirror is waited for, when all is over.
PATIENCE = {"finished": 900.0, "exited": 300.0, "crashed": 300.0, "stopped": 120.0, "interrupted": 60.0}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    target: str
    module: bool = False
    argv: list[str] = field(default_factory=list)
    findings: Path | None = None
    policy: str = "protect"
    quiet: bool = False
    status: bool = True  # a line about the run, on a terminal
    folder: Path | None = None
    autopsy: bool = True
    mirror: str | None = None  # a URL that can be connected to
    deadline: Deadline | None = None
    sinks: list[Sink] = field(default_factory=list)
    settings: Shared = field(default_factory=Shared)


def run(options: RunOptions) -> int:
    """Run the program under supervision; returns its exit code.

    After Ctrl-C it raises KeyboardInterrupt, so that Python ends the process the way a shell expects:
    by the signal. The traceback has been printed by then.
    """
    mine = place(os.environ)
    console = Console(mine is not None and mine.rank != 0, mute=options.quiet)
    program = Program(target=options.target, module=options.module, argv=options.argv)
    try:
        program.check()
    except UsageError as error:
        console.refuse(str(error))
        return USAGE_ERROR
    supervision = Supervision(options, console)
    supervision.begin(program)
    supervision.follow_children()
    try:
        ending = program.run()
    except UsageError as error:  # a module that is missing inside a package that is there
        console.refuse(str(error))
        ending = Ending(reason="exited", exit_code=USAGE_ERROR, message=str(error))
    ending = supervision.settled(ending)
    supervision.end(ending)
    if mine is not None and options.autopsy and supervision.capsules and LAUNCHED not in os.environ:
        console.problem(f"when all ranks have ended: premortem replay {supervision.capsules[0]}")
    if ending.reason == "interrupted":
        sys.excepthook = lambda *_: None
        raise KeyboardInterrupt
    return ending.exit_code


def autopsy(capsules: list[Path], console: Console) -> None:
    """The run was stopped: replay what it failed at, in a process of its own, which prints its page."""
    if not capsules:
        console.problem("there is no capsule of the failure, so there is nothing to replay")
        return
    # Not with --trust: in a folder that others can write to, the first capsule need not be this run's.
    command = [sys.executable, "-m", "premortem", "replay", str(capsules[0])]
    variables = {**os.environ, **trust.handed_on()}
    # It writes what it finds into the journal, so that it is worth its time also when nothing is shown.
    shown = (subprocess.DEVNULL, subprocess.DEVNULL) if console.quiet else (sys.__stderr__, None)
    subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, stdout=shown[0], stderr=shown[1], env=variables
    )


class Supervision:
    """All that accompanies one run of the program."""

    def __init__(
        self,
        options: RunOptions,
        console: Console,
        audience: Audience | None = None,
        *,
        alone: bool = False,  # whatever the environment says of ranks
    ) -> None:
        self.options = options
        self.console = console
        self._audience = audience
        self._pid = os.getpid()
        self._started = time.time()
        self._ending: Ending | None = None
        self._saying_last_words = False
        self.journal: Journal | None = None
        self.watcher: Watcher | None = None
        self._relay: Relay | None = None
        self._tees: list[Tee] = []
        self._vitals: RunStatus | None = None
        self._descendants: Descendants | None = None
        self._autopsies: Autopsies | None = None
        self._writing = threading.RLock()  # the thread that looks at child processes writes too
        self._shown: set[tuple[str, Where]] = set()
        self._problems: dict[int, int] = {}  # sentences of each child process that were passed on
        self._rank: int | None = None
        mine = None if alone else place(os.environ)
        self._ranks = Ranks(mine, options.findings, console.problem) if mine is not None else None
        self._file = FindingsFile(options.findings, console.problem) if options.findings else None
        self._termination = Termination(self._terminated, self._save, self._busy, self._grace)

    def begin(self, program: Program) -> None:
        with never_fatal("journal", None):
            self._open_journal(program.name)
        with never_fatal("findings", self.journal):
            self._write_findings()
        with never_fatal("sinks", self.journal):
            self._open_sinks(program.name)
        with never_fatal("watcher", self.journal):
            self._start_watching()
        if self.watcher is None:
            self.console.problem(
                "a fault of premortem's own keeps it from watching this run, which goes on unwatched"
            )
        with never_fatal("signals", self.journal):
            self._termination.install()

    def follow_children(self) -> None:
        """Processes that the script starts, and that train, are watched as a part of this run."""
        outer = family()
        if outer is not None:
            outer.stand_down()  # this process was started by a watched run, and is one of its own
        with never_fatal("children", self.journal):
            if self.journal is not None and self.journal.keeps:
                self._descendants = Descendants(
                    self.journal.path.parent,
                    self.options.policy,
                    self.options.settings.to_json(),
                    self._children_told,
                )
                self._descendants.follow()

    @property
    def session(self) -> Any:
        """For whoever uses torch beside the script: to know when premortem does, and to do so unheard."""
        attachment = self.watcher._attachment if self.watcher is not None else None  # noqa: SLF001
        if attachment is None:
            raise RuntimeError("premortem did not attach")
        return attachment.session

    def _start_watching(self) -> None:
        from premortem.run.watcher import Watcher

        self.watcher = Watcher(
            self.options.policy,
            self.journal,
            self._found,
            self.console.problem,
            mirror=self._open_mirror(),
            deadline=self.options.deadline,
            on_step=self._stepped,
            have_done=self._termination.have_done,
            relay=self._relay,
            audience=self._audience,
            on_capsule=self._failed,
            silence=Silence(self.options.settings),
        )
        self.watcher.emit(RunStarted(argv=tuple(redaction.argv(self._command)), torch=_torch_version() or ""))
        self.watcher.attach_when_torch_arrives()
        with never_fatal("status", self.journal):
            self._vitals = self._make_vitals(self.watcher)
        passing = self._vitals.line.passing if self._vitals is not None else None
        streams = [sys.stdout] if sys.stdout is sys.stderr else [sys.stdout, sys.stderr]
        self._tees = [Tee(stream, self._printed, passing) for stream in streams]

    def _make_vitals(self, watcher: Watcher) -> RunStatus | None:
        """Not where there are more processes on the terminal than this one."""
        if (
            self.console.quiet
            or not self.options.status
            or self._ranks is not None
            or self._audience is not None
        ):
            return None
        from premortem.run.status import status_for

        vitals = status_for(watcher, self.journal)
        if vitals is not None:
            vitals.start()
        return vitals

    def settled(self, ending: Ending) -> Ending:
        """A run that came to its own end before the step at which all ranks had agreed to stop was stopped too; and one
        that has failed because premortem stopped a process that it had started."""
        child = descendants.stopped(self._reports()) if ending.reason in {"crashed", "exited"} else None
        if child is not None:
            return Ending(reason="stopped", exit_code=STOPPED, message=f"child process {child['child']}")
        if self._ranks is None or self.watcher is None or ending.reason != "finished":
            return ending
        decided = self.watcher.stopping
        if decided is None:
            return ending
        return Ending(reason="stopped", exit_code=STOPPED, message=f"{decided.code} {decided.name}")

    def end(self, ending: Ending) -> None:
        """Say the last words, or leave them to the end of the process if threads of the user's still work."""
        if os.getpid() != self._pid:
            return  # a child that the script forked comes this way too
        others = [t for t in threading.enumerate() if t is not threading.current_thread() and not t.daemon]
        if _children_at_work():
            self._note(ending)
            # After they were joined, which Python does at its own exit.
            sys.modules["multiprocessing.util"].Finalize(
                None, self._say_last_words, args=(ending,), exitpriority=-1000
            )
        elif others:
            self._note(ending)  # also starts the journal's writer: at exit it is too late for new threads
            atexit.register(self._say_last_words, ending)
        else:
            self._say_last_words(ending)

    def conclude(self, ending: Ending) -> None:
        """Report the end now, although the program may go on: what follows belongs to no run."""
        self._say_last_words(ending)

    @property
    def _argv(self) -> list[str]:
        flag = ["-m"] if self.options.module else []
        return [*flag, self.options.target, *self.options.argv]

    @property
    def _command(self) -> list[str]:
        """With which the same could be run again; empty where there is none."""
        return self._argv

    def _open_journal(self, name: str) -> None:
        chosen = self.options.folder
        try:
            folder = self._claim(chosen, name)
        except OSError as error:
            self.console.problem(
                f"the run folder {chosen or Path('.premortem', 'runs')} cannot be made "
                f"({error.strerror}); the run goes on without a journal"
            )
            return
        if chosen is None and self._ranks is None and not folder.is_relative_to(Path.cwd()):
            self.console.problem(
                f"the disk is nearly full; premortem keeps its record of this run in {folder}"
            )
        meta = {
            **self._record(),
            "premortem": __version__,
            "cwd": Path.cwd(),
            "pid": self._pid,
            "host": platform.node(),
            "executable": sys.executable,
            "revision": revision(Path.cwd()),
        }
        self.journal = Journal.open(folder, meta=meta, on_problem=self.console.problem)
        self._keep_sources(self.journal)

    def _keep_sources(self, journal: Journal) -> None:
        """The script and the configs it is started with, as they are now: two runs can then be compared."""
        script = [] if self.options.module else [self.options.target]
        words = [word.rpartition("=")[2] for word in self.options.argv]
        configs = [word for word in words if word.endswith(_CONFIGS) and Path(word).is_file()]
        for path in [*script, *configs]:
            redaction.learn_file(path)  # before anything of it is printed
            journal.source(str(Path(path).absolute()))

    def _open_sinks(self, name: str) -> None:
        if self.options.sinks:
            from premortem.sinks.relay import Relay

            fault = self.journal.fault if self.journal is not None else lambda _unit, _error: None
            self._relay = Relay(self.options.sinks, self.console.problem, fault, script=name)

    def _close_sinks(self, ending: Ending) -> None:
        if self._relay is not None:
            from premortem.sinks.base import Outcome

            outcome = Outcome(reason=ending.reason, steps=self._steps(), findings=self._findings())
            # After a signal there may be few seconds left.
            self._relay.close(outcome, 5.0 if ending.reason == "interrupted" else 15.0)

    def _claim(self, chosen: Path | None, name: str) -> Path:
        if self._ranks is not None:
            shared = f"{stamp()}-{name}-{os.getppid()}"
            self._ranks.folder, self._ranks.own = rank_folder(chosen, shared, self._ranks.mine.rank)
            return self._ranks.own
        return claim_folder(chosen) if chosen else default_folder(name)

    def _open_mirror(self) -> Mirror | None:
        if self.options.mirror is None:
            return None
        if self.journal is None:
            self.console.problem("the mirror needs a run folder; the run goes on with neither")
            return None
        from premortem.vault.mirror import Mirror

        folder = self.journal.path.parent
        mirror = Mirror(self.options.mirror, folder / "mirror")
        adopted = mirror.adopt(folder.parent)
        if adopted:
            self.console.problem(
                f"the mirror also gets {adopted} checkpoint{'s' * (adopted > 1)} that earlier runs could not send"
            )
        return mirror

    # --- while it runs -----------------------------------------------------------------------

    def _printed(self, line: LogLine) -> None:
        with never_fatal("log", self.journal):
            if self.watcher is not None:
                self.watcher.look_for_torch()
                self.watcher.emit(line)

    def _found(self, finding: Finding) -> None:
        if os.getpid() != self._pid:
            return
        with never_fatal("findings", self.journal):
            self._write_findings()
        with never_fatal("console", self.journal):
            self._shown.add((finding.code, finding.where))
            self.console.finding(finding)

    def _children_told(self) -> None:
        """On the thread that looks at them."""
        if os.getpid() != self._pid or self._saying_last_words:
            return
        with never_fatal("findings", self.journal):
            self._write_findings()
        with never_fatal("console", self.journal):
            self._show_children()

    def _show_children(self) -> None:
        """What child processes have found, as far as it was not shown."""
        reports = self._reports()
        if not reports:
            return
        for run, _ in reports:
            for problem in run.get("problems", ())[self._problems.get(run["pid"], 0) :]:
                self.console.problem(f"child process {run['child']}: {problem}")
            self._problems[run["pid"]] = len(run.get("problems", ()))
        for finding in self._findings():
            if (finding.code, finding.where) not in self._shown:
                self._shown.add((finding.code, finding.where))
                if self.journal is not None:
                    self.journal.finding(finding)
                if self._relay is not None:
                    self._relay.finding(finding)
                self.console.finding(finding)

    def _stepped(self) -> None:
        self._termination.mind_interrupts()
        self._termination.step_ended()
        if self._autopsies is not None and self._autopsies.pending:
            with never_fatal("autopsy", self.journal):
                self._heard(self._autopsies.heard())

    def _failed(self, capsule: Path) -> None:
        """A step failed, and can be run again. With several ranks that needs all of them."""
        unwanted = not self.options.autopsy or os.environ.get("PREMORTEM_AUTOPSY") == "0"
        if unwanted or self._ranks is not None or self._audience is not None:
            return
        if self._autopsies is None and self.journal is not None and self.watcher is not None:
            self._autopsies = Autopsies(self.journal.path.parent, self.watcher.unexplained)
        if self._autopsies is not None:
            self._autopsies.add(capsule)

    def _heard(self, records: list[dict[str, Any]]) -> None:
        for record in records:
            if self.watcher is not None:
                self.watcher.emit(Autopsied(step=int(record.get("step", 0)), record=record))

    def _last_autopsy(self, ending: Ending) -> None:
        """Whoever looks at a failed run wants the cause: it is worth waiting a little for."""
        autopsies, self._autopsies = self._autopsies, None
        if autopsies is None:
            return
        try:
            seconds = AUTOPSY.get(ending.reason, 0.0) * busy()
            if seconds and autopsies.wanted:
                self._write_findings()
                self.console.problem(
                    f"the step that failed is run again to find the cause, for {seconds:.0f} s at most (Ctrl-C ends that)"
                )
                self._heard(autopsies.last(seconds, lambda: self._termination.hurried))
        except KeyboardInterrupt:
            pass
        finally:
            autopsies.close()

    def _busy(self) -> bool:
        safe = self.watcher.safekeeping if self.watcher is not None else None
        return safe is not None and safe.saves and safe.busy

    def _grace(self) -> float:
        """A long step is not a hang: premortem waits for its end, and then saves."""
        safe = self.watcher.safekeeping if self.watcher is not None else None
        return safe.patience if safe is not None and safe.saves else 0.0

    def _save(self, signum: int) -> None:
        """A signal came: what was trained is saved, and the mirror gets it."""
        with never_fatal("save", self.journal):
            safe = self.watcher.safekeeping if self.watcher is not None else None
            if safe is None or not safe.saves or os.getpid() != self._pid:
                return
            path = safe.save_now()
            if path is not None:
                self.console.problem(f"{signal.Signals(signum).name}: the state of the training is in {path}")
            if signum != signal.SIGINT:  # the script goes on after that one, if only to clean up
                safe.flush(PATIENCE["interrupted"])

    def _terminated(self, signum: int) -> bool:
        if self._saying_last_words:
            return False
        name = signal.Signals(signum).name
        self._say_last_words(Ending(reason="interrupted", exit_code=128 + signum, message=name))
        return True

    # --- the end -----------------------------------------------------------------------------

    def _say_last_words(self, ending: Ending) -> None:
        if os.getpid() != self._pid or self._saying_last_words:
            return
        self._saying_last_words = True
        with never_fatal("status", self.journal):
            if self._vitals is not None:
                self._vitals.close()
        with never_fatal("watcher", self.journal), suppress(Stopped):
            for tee in reversed(self._tees):
                tee.close()
            if self.watcher is not None:
                self.watcher.close(
                    _ended(ending, self.watcher.steps), patience=PATIENCE.get(ending.reason, 60.0)
                )
        with never_fatal("autopsy", self.journal):
            self._last_autopsy(ending)
        self._ending = ending
        with never_fatal("children", self.journal):
            if self._descendants is not None:
                self._descendants.close()
        with never_fatal("findings", self.journal):
            self._write_findings()
        with never_fatal("console", self.journal):
            self._show_children()
            self._sum_up(ending)
        with never_fatal("sinks", self.journal):
            self._close_sinks(ending)
        with never_fatal("journal", self.journal):
            self._note(ending)
            if self.journal is not None:
                self.journal.close()
        with never_fatal("signals", self.journal):
            self._termination.close()

    def _sum_up(self, ending: Ending) -> None:
        folder = self.journal.path.parent if self.journal else None
        findings = self._findings()
        if self._ranks is not None:
            if LAUNCHED in os.environ or not self._ranks.speaks:
                return  # the launcher sees all ranks to their end; elsewhere the first one speaks
            self._ranks.wait()
            findings, folder = self._ranks.findings() or findings, self._ranks.folder or folder
            self.console.unsaid(findings)
        journal = self._where_to_read(folder) if folder is not None and folder.exists() else None
        self.console.summary(
            findings,
            self._steps(),
            journal,
            ending.reason == "stopped",
            children=len(self._reports()),
            here=self.watcher is not None and self.watcher.steps > 0,
            reason=self._looked_at().reason,
            missed=self._looked_at().missed,
            silenced=self.watcher.silenced if self.watcher is not None else 0,
        )

    def _where_to_read(self, folder: Path) -> Path:
        """The journal with the steps: a child's, where only children have trained."""
        trained = [run["folder"] for run, _ in self._reports() if run["steps"] and run["folder"]]
        own = self.watcher.steps if self.watcher is not None else 0
        return Path(trained[0]) if trained and not own else folder

    def _looked_at(self) -> LookedAt:
        return looked_at(self._steps(), self.watcher, self.journal, self._descendants)

    def _reports(self) -> list[Report]:
        return self._descendants.reports() if self._descendants is not None else []

    def _steps(self) -> int:
        return descendants.steps(self.watcher.steps if self.watcher is not None else 0, self._reports())

    @property
    def capsules(self) -> list[Path]:
        return self.watcher.capsules if self.watcher is not None else []

    def _findings(self) -> list[Finding]:
        own = self.watcher.findings if self.watcher is not None else []
        reports = self._reports()
        if not reports:
            return own
        rank = rank_here()
        self._rank = self._rank if rank is None else rank  # the group may be gone at the end
        return union([({"rank": self._rank}, own), *reports])

    def _write_findings(self) -> None:
        with self._writing:
            if self._ranks is not None:
                self._ranks.write(self._record(), self._findings())
            elif self._file is not None:
                self._file.write(self._record(), self._findings())

    def _note(self, ending: Ending) -> None:
        self._ending = ending
        if self.journal is not None:
            self.journal.note(**self._record(), error=ending.error, message=ending.message)

    def _record(self) -> dict[str, Any]:
        """The "run" of FILE.json. While it runs there is no end, and no exit code."""
        now, ending = time.time(), self._ending
        return {
            "argv": redaction.argv(self._argv),
            "started": _stamp(self._started),
            "ended": _stamp(now) if ending else None,
            "seconds": round(now - self._started, 3),
            "steps": self._steps(),
            "exit_code": ending.exit_code & 0xFF if ending else None,
            "reason": ending.reason if ending else "running",
            "torch": _torch_version(),
            "python": platform.python_version(),
            "folder": str(self.journal.path.parent) if self.journal else None,
            "policy": self.options.policy,
            "silenced": self.watcher.silenced if self.watcher is not None else 0,
            "watched": {
                **self._looked_at().to_json(),
                "children": [descendants.brief(run) for run, _ in self._reports()],
            },
        }


def busy() -> float:
    """How many times longer things take than on a machine that has nothing else to do; at least 1."""
    try:
        waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):  # Windows
        return 1.0
    return min(max(waiting, 1.0), 8.0)


def _children_at_work() -> bool:
    """Processes that Python itself waits for when it ends."""
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and any(not each.daemon for each in processes.active_children())


def _ended(ending: Ending, steps: int) -> RunEnded:
    return RunEnded(
        step=steps, at=ending.at, reason=ending.reason, error=ending.error, message=ending.message
    )


def _stamp(moment: float) -> str:
    return datetime.fromtimestamp(moment, timezone.utc).isoformat(timespec="milliseconds")


def _torch_version() -> str | None:
    """Of the torch that the script imported, if it did: asking must not import it."""
    version = getattr(sys.modules.get("torch"), "__version__", None)
    return None if version is None else str(version)
