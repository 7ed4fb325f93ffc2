"""All that accompanies one run of a program: it is set up before the first line, and ends after the last one."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem import redaction
from premortem.errors import STOPPED, Stopped
from premortem.events import LogLine, RunEnded, RunStarted
from premortem.findings import Finding
from premortem.journal import Journal, claim_folder, default_folder, never_fatal, rank_folder
from premortem.program.running import Ending, Program
from premortem.ranks import descendants
from premortem.ranks.descendants import Descendants
from premortem.ranks.processes import Ranks, folder_name, place
from premortem.run import sweep_program
from premortem.run.autopsies import RunAutopsies
from premortem.run.hydra_jobs import HydraJobs
from premortem.run.opening import open_journal, open_mirror, open_publisher, open_relay
from premortem.run.options import RunOptions
from premortem.run.ray_cluster import RayCluster
from premortem.run.run_report import RunReport, torch_version
from premortem.run.termination import Termination
from premortem.settings import Silence
from premortem.startup.children import family
from premortem.terminal.console import Console
from premortem.terminal.printed_lines import Tee
from premortem.vault.garbage import uncollected

if TYPE_CHECKING:
    from premortem.run.data_reading import DataReading
    from premortem.run.status import RunStatus
    from premortem.run.watcher import Audience, Watcher
    from premortem.shelf.publisher import Publisher

# Seconds for which a mirror is waited for, when all is over.
PATIENCE = {"finished": 900.0, "exited": 300.0, "crashed": 300.0, "stopped": 120.0, "interrupted": 60.0}


class Supervision:
    """One run. Each part is set up apart: a fault in one costs that part, and is written to the journal."""

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
        self._saying_last_words = False
        self._tees: list[Tee] = []
        self._vitals: RunStatus | None = None
        self._publisher: Publisher | None = None
        self._jobs: HydraJobs | None = None
        mine = None if alone else place(os.environ)
        self._ranks = Ranks(mine, options.findings, console.problem) if mine is not None else None
        self.report = self._make_report()
        self._autopsies = RunAutopsies(self.report)
        self._termination = Termination(self._terminated, self._save, self._busy, self._grace)

    def _make_report(self) -> RunReport:
        return RunReport(self.options, self.console, self._ranks)

    @property
    def journal(self) -> Journal | None:
        return self.report.journal

    @property
    def watcher(self) -> Watcher | None:
        return self.report.watcher

    @property
    def capsules(self) -> list[Path]:
        return self.watcher.capsules if self.watcher is not None else []

    def begin(self, program: Program) -> None:
        with never_fatal("journal", None):
            self._open_journal(program.name)
        with never_fatal("findings", self.journal):
            self.report.write()
        with never_fatal("sinks", self.journal):
            self.report.relay = open_relay(self.options, self.journal, self.console, program.name)
        with never_fatal("publisher", self.journal):
            self._publisher = open_publisher(self.options, self.journal, self.console)
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
                self.report.descendants = Descendants(
                    self.journal.path.parent,
                    self.options.policy,
                    self.options.settings.to_json(),
                    self._children_told,
                )
                self.report.descendants.follow()
                self._follow_jobs(self.report.descendants)
                self.report.ray = RayCluster(self.report.descendants, self.console.problem)
                self.report.ray.wait()

    def _follow_jobs(self, following: Descendants) -> None:
        if self._ranks is None and self.watcher is not None:
            program = sweep_program.SweepProgram(following, self.options.policy, self.watcher)
            sweep_program.begin(program)
            self._jobs = HydraJobs(program)
            self._jobs.wait()

    def _open_journal(self, name: str) -> None:
        self.report.journal = open_journal(
            self.options,
            lambda: self._claim(self.options.folder, name),
            self.report.record(),
            self.console,
        )

    def _claim(self, chosen: Path | None, name: str) -> Path:
        if self._ranks is not None:
            shared = folder_name(name)
            self._ranks.folder, self._ranks.own = rank_folder(chosen, shared, self._ranks.mine.rank)
            return self._ranks.own
        if chosen:
            return claim_folder(chosen)
        folder = default_folder(name)
        if not folder.is_relative_to(Path.cwd()):
            self.console.problem(
                f"the disk is nearly full; premortem keeps its record of this run in {folder}"
            )
        return folder

    @property
    def _command(self) -> list[str]:
        """With which the same could be run again; empty where there is none."""
        return self.report.argv

    @property
    def session(self) -> Any:
        """For whoever uses torch beside the script: to know when premortem does, and to do so unheard."""
        attachment = self.watcher.attachment if self.watcher is not None else None
        if attachment is None:
            raise RuntimeError("premortem did not attach")
        return attachment.session

    def _start_watching(self) -> None:
        from premortem.run.watcher import Watcher

        self.report.watcher = watcher = Watcher(
            self.options.policy,
            self.journal,
            self._found,
            self.console.problem,
            mirror=open_mirror(self.options, self.journal, self.console),
            deadline=self.options.deadline,
            on_step=self._stepped,
            have_done=self._termination.have_done,
            relay=self.report.relay,
            audience=self._audience,
            on_capsule=self._failed,
            silence=Silence(self.options.settings),
            quarantine=self.options.quarantine,
            reads=self.options.reads,
            data=self._data_reading(),
        )
        watcher.emit(RunStarted(argv=tuple(redaction.argv(self._command)), torch=torch_version() or ""))
        watcher.attach_when_torch_arrives()
        with never_fatal("status", self.journal):
            self._vitals = self._make_vitals(watcher)
        passing = self._vitals.line.passing if self._vitals is not None else None
        streams = [sys.stdout] if sys.stdout is sys.stderr else [sys.stdout, sys.stderr]
        self._tees = [Tee(stream, self._printed, passing) for stream in streams]

    def _data_reading(self) -> DataReading | None:
        """Only for a script that is run as one: of several ranks each would read the same, and a rehearsal's files `check` has read."""
        if (
            not self.options.reads
            or not self.options.target
            or self._ranks is not None
            or self._audience is not None
        ):
            return None
        from premortem.run.data_reading import DataReading

        return DataReading(self.options, self._fault_of)

    def _fault_of(self, unit: str, error: BaseException) -> None:
        if self.journal is not None:
            self.journal.fault(unit, error)

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
        child = descendants.stopped(self.report.reports()) if ending.reason in {"crashed", "exited"} else None
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
            self.report.note(ending)
            # After they were joined, which Python does at its own exit.
            sys.modules["multiprocessing.util"].Finalize(
                None, self._say_last_words, args=(ending,), exitpriority=-1000
            )
        elif others:
            self.report.note(
                ending
            )  # also starts the journal's writer: at exit it is too late for new threads
            atexit.register(self._say_last_words, ending)
        else:
            self._say_last_words(ending)

    def conclude(self, ending: Ending) -> None:
        """Report the end now, although the program may go on: what follows belongs to no run."""
        self._say_last_words(ending)

    # --- while it runs -----------------------------------------------------------------------

    def _printed(self, line: LogLine) -> None:
        with never_fatal("log", self.journal):
            watcher = self.report.watcher  # a loop may print in every step
            if watcher is not None:
                watcher.look_for_torch()
                watcher.emit(line)
                attachment = watcher.attachment
                if attachment is not None:
                    attachment.printed(line)

    def _found(self, finding: Finding) -> None:
        if os.getpid() != self._pid:
            return
        with never_fatal("findings", self.journal):
            self.report.write()
        with never_fatal("console", self.journal):
            self.report.show(finding)

    def _children_told(self) -> None:
        """On the thread that looks at them."""
        if os.getpid() != self._pid or self._saying_last_words:
            return
        with never_fatal("findings", self.journal):
            self.report.write()
        with never_fatal("console", self.journal):
            self.report.show_children()

    def _stepped(self) -> None:
        self._termination.mind_interrupts()
        self._termination.step_ended()
        self._autopsies.step_ended()

    def _failed(self, capsule: Path) -> None:
        """A step failed, and can be run again. With several ranks that needs all of them."""
        unwanted = not self.options.autopsy or os.environ.get("PREMORTEM_AUTOPSY") == "0"
        if not unwanted and self._ranks is None and self._audience is None:
            self._autopsies.add(capsule)

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
        with uncollected():
            self._end_all(ending)

    def _end_all(self, ending: Ending) -> None:
        with never_fatal("status", self.journal):
            if self._vitals is not None:
                self._vitals.close()
        with never_fatal("jobs", self.journal):
            if self._jobs is not None:
                self._jobs.leave()
                sweep_program.end()
        with never_fatal("going on", self.journal):
            self.report.find_out_how_to_go_on(ending)
        with never_fatal("watcher", self.journal), suppress(Stopped):
            for tee in reversed(self._tees):
                tee.close()
            if self.watcher is not None:
                self.watcher.close(
                    _ended(ending, self.watcher.steps), patience=PATIENCE.get(ending.reason, 60.0)
                )
        with never_fatal("autopsy", self.journal):
            self._autopsies.close(ending.reason, lambda: self._termination.hurried)
        self.report.ended(ending)
        with never_fatal("ray", self.journal):
            if self.report.ray is not None:
                self.report.ray.leave()
        with never_fatal("children", self.journal):
            if self.report.descendants is not None:
                self.report.descendants.close()
        with never_fatal("findings", self.journal):
            self.report.write()
        with never_fatal("console", self.journal):
            self.report.show_children()
            self.report.sum_up(ending)
        with never_fatal("sinks", self.journal):
            self._close_sinks(ending)
        with never_fatal("journal", self.journal):
            self.report.note(ending)
            if self.journal is not None:
                self.journal.close()
        with never_fatal("publisher", self.journal):
            if self._publisher is not None:
                self._publisher.close()
        with never_fatal("signals", self.journal):
            self._termination.close()

    def _close_sinks(self, ending: Ending) -> None:
        if self.report.relay is not None:
            from premortem.sinks.base import Outcome

            outcome = Outcome(
                reason=ending.reason, steps=self.report.steps(), findings=self.report.findings()
            )
            # After a signal there may be few seconds left.
            self.report.relay.close(outcome, 5.0 if ending.reason == "interrupted" else 15.0)


def _children_at_work() -> bool:
    """Processes that Python itself waits for when it ends."""
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and any(not each.daemon for each in processes.active_children())


def _ended(ending: Ending, steps: int) -> RunEnded:
    return RunEnded(
        step=steps, at=ending.at, reason=ending.reason, error=ending.error, message=ending.message
    )
