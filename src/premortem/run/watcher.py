"""The watcher joins the rooms: probes -> events -> detectors -> findings -> policy -> actions.

The middle of the program is `emit`, and it fits on one screen.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from premortem import detectors, events, policy
from premortem.actions.stop import stop
from premortem.cards import identity
from premortem.convictions.court import Court
from premortem.convictions.pairs import is_same, proved
from premortem.derived.failures import Failures
from premortem.derived.folding import fold, without_surpassed
from premortem.derived.phases import Phases
from premortem.derived.proved import of_which, with_proofs
from premortem.derived.windows import Windows
from premortem.detectors.shared.facts import Fact, Facts
from premortem.events import (
    OUT_OF_MEMORY,
    Autopsied,
    Event,
    LogLine,
    RunEnded,
    RunStarted,
    StepStats,
    Suspicion,
)
from premortem.findings import Certainty, Finding, Where
from premortem.policy import Decision
from premortem.run import environment
from premortem.run.reading import PATIENCE, Reading
from premortem.settings import Silence, shared
from premortem.settings import shown as shown_findings
from premortem.startup.import_hook import ImportHook

if TYPE_CHECKING:
    from premortem.actions.checkpoint_safety import Safekeeping
    from premortem.actions.stop_ranks import Together
    from premortem.journal.write import Journal
    from premortem.probes import Attachment
    from premortem.replay.capsule_writer import Capsules
    from premortem.sinks.relay import Relay
    from premortem.vault.deadline import Deadline
    from premortem.vault.mirror import Mirror

# What the detectors' picture of a step is made of.
_VITAL = frozenset({"forward", "backward", "optimizer step", "optimizer built", "scheduler step"})
MOST_OF_A_PLACE = 12  # findings of one code; after these, more of the same only bury what else there is
# Events worth keeping besides the series of steps. All are rare: none is made in every step.
_KEPT = (
    events.Autopsied,
    events.BatchSplit,
    events.CheckpointSaved,
    events.Custody,
    events.DataProfiled,
    events.DeadlineMet,
    events.EnvironmentRead,
    events.EpochEnded,
    events.EvaluationEnded,
    events.FileLoaded,
    events.LayerStats,
    events.LoaderBuilt,
    events.LogLine,
    events.MirrorSeen,
    events.ModelSeen,
    events.OptimizerBuilt,
    events.OutOfMemory,
    events.Resumed,
    events.SaveChecked,
    events.SchedulerBuilt,
    events.Seeded,
    events.StateLoaded,
    events.StepRefused,
    events.StorageSeen,
)


class Audience(Protocol):
    """What follows a watched run: a rehearsal."""

    def attached(self, watcher: Watcher) -> None: ...

    def heard(self, event: Event) -> None: ...


_attached: list[Watcher] = []


def abandon_others() -> None:
    """In a fork: take away the probes of watchers that are the parent's."""
    for watcher in [each for each in _attached if not each.own]:
        watcher.abandon()


def watched() -> bool:
    """Whether this process is watched: `premortem run`, a door, a block around."""
    return bool(_attached)


class Watcher:
    """Watches the run of this process."""

    def __init__(
        self,
        policy_name: str = "protect",
        journal: Journal | None = None,
        on_finding: Callable[[Finding], None] | None = None,
        on_problem: Callable[[str], None] | None = None,
        *,
        mirror: Mirror | None = None,
        deadline: Deadline | None = None,
        on_step: Callable[[], None] | None = None,
        have_done: Callable[[Callable[[], None]], bool] = lambda _errand: False,
        relay: Relay | None = None,
        audience: Audience | None = None,
        on_capsule: Callable[[Path], None] | None = None,
        silence: Silence | None = None,
        reads: bool = False,
    ) -> None:
        self.policy = policy.by_name(policy_name)
        self.journal = journal
        self.relay = relay
        self.on_finding = on_finding
        self.on_problem = on_problem
        self.on_step = on_step
        self._have_done = have_done
        self._audience = audience
        self._on_capsule = on_capsule
        self._silence = silence or Silence()
        self.mirror = mirror
        self.deadline = deadline
        self.safekeeping: Safekeeping | None = None
        self.steps = 0
        self.latest: StepStats | None = None
        self._found: list[Finding] = []
        self._said: set[tuple[Any, ...]] = set()
        self._counts: Counter[tuple[str, Where]] = Counter()  # findings of each code at each place
        self._broken: dict[str, None] = {}  # detectors that have failed
        self._derivations = (Phases(), Windows(), Failures())
        self._detectors = [cls() for cls in detectors.ALL]
        self._cards = {cls.card.code: cls.card for cls in detectors.ALL}
        self._kept = frozenset(map(events.sent, _KEPT))
        self._listening: dict[type[Event], list[detectors.Detector]] = {}
        self._judging: set[type[Event]] = set()  # events that the court hears
        facts = Facts()
        self._facts: dict[type[Event], list[Fact]] = {}
        for fact in [
            facts[kind] for kind in dict.fromkeys(kind for cls in detectors.ALL for kind in cls.uses)
        ]:
            for kind in map(events.sent, fact.LISTENS):
                self._facts.setdefault(kind, []).append(fact)
        for detector in self._detectors:
            detector.share(facts)
            for kind in map(events.sent, detector.listens):
                self._listening.setdefault(kind, []).append(detector)
        # The script's own files, read beside the run, and what comes of it.
        self._reading = Reading(self.fault) if reads else None
        self._court = Court({card.name: card for card in self._cards.values()}) if reads else None
        for kind in map(events.sent, self._court.listens if self._court is not None else ()):
            self._judging.add(kind)
        self.capsules: list[Path] = []  # of steps that failed,
        self._capsules: Capsules | None = None
        self._proofs: list[dict[str, Any]] = []  # ... and what came of running them again
        self._argv: list[str] = []
        self._cwd = working_folder()
        self._attachment: Attachment | None = None
        self._together: Together | None = None
        self._hook: ImportHook | None = None
        self._there_before = False  # torch, at the start
        self._pid = os.getpid()
        self._optimizers = 0
        self.missed: dict[str, str] = {}  # what was not looked at, by what kept us from it
        self.stopping: Finding | None = None  # at which the run is to be ended

    # -- the loop -------------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        """One event through the whole of premortem. Raises only `Stopped`, only by policy."""
        if isinstance(event, LogLine):
            event = replace(event, step=self.reached())  # a printed line does not know how far the run is
        if events.base.seals:
            event.seal()
        self.steps = max(self.steps, event.step)
        if isinstance(event, RunStarted):
            self._argv = list(event.argv)
        if self.journal is not None:
            if isinstance(event, StepStats):
                self.journal.step(event, time.time())
            elif type(event) in self._kept:
                self.journal.event(event)
        if isinstance(event, StepStats):
            self.latest = event
            if self.relay is not None:
                self.relay.step(event)
            if event.rested:
                return
        elif isinstance(event, Autopsied):
            self._explain(event)
        self._dispatch(event)
        for derivation in self._derivations:
            for derived in derivation.observe(event):
                if events.base.seals:
                    derived.seal()
                if self.journal is not None and type(derived) in self._kept:
                    self.journal.event(derived)
                self._dispatch(derived)

    def reached(self) -> int:
        """Steps so far, including those that were not reported."""
        if self._attachment is not None:
            self.steps = max(self.steps, self._attachment.session.step)
        return self.steps

    def _dispatch(self, event: Event) -> None:
        if self._audience is not None:
            self._audience.heard(event)
        for fact in self._facts.get(type(event), ()):
            try:
                fact.observe(event)
            except Exception as error:  # noqa: BLE001 - whoever asks for it would be wrong
                self._lose(fact, error)
        for detector in self._listening.get(type(event), ()):
            try:  # around each one: the next detector must still hear the event
                for finding in detector.observe(event):
                    self._say(finding)
                if detector.over:
                    self._retire(detector)
            except Exception as error:  # noqa: BLE001 - a detector's bug must not reach the run
                self._retire(detector)
                self._broken[detector.card.name] = None
                self.fault(detector.card.name, error)
        if type(event) in self._judging and self._court is not None:
            self._judge(self._court, event)

    def _judge(self, court: Court, event: Event) -> None:
        """What lint suspects, against what the run does."""
        try:
            for finding in court.observe(event):
                self._say(finding)
            over = court.over
        except Exception as error:  # noqa: BLE001 - likewise
            self.fault("court", error)
            over = True
        if over:
            self._judging = set()

    def _read_beside(self, patience: float = 0.0) -> None:
        """Begins to read the script's files at its first step; what was read goes to whoever listens."""
        reading, court = self._reading, self._court
        if reading is None or court is None:
            return
        reading.begin()
        read = reading.take(patience)
        if read is None:
            return
        self._reading = None
        self._cards |= {one.card.code: one.card for one in read.suspicions}
        if self._attachment is not None:
            self._attachment.dropped.look_for(court.dropped(read))
        self.emit(replace(read, step=self.reached()))
        told = {(finding.code, finding.severity, finding.where) for finding in self.findings}
        found = [proved(finding, court.suspicions) for finding in self._found]
        # Several places where a mistake showed are one place where it stands.
        self._found = list({self._identity(finding): finding for finding in found}.values())
        for finding in self.findings:
            if (finding.code, finding.severity, finding.where) not in told:
                self._tell(finding)  # it has moved to another line, or weighs more

    def silence(self, names: AbstractSet[str]) -> None:
        """These diagnoses cannot be made any more: what they said so far stands."""
        for detector in self._detectors:
            if detector.card.name in names:
                self._retire(detector)

    def _retire(self, broken: detectors.Detector) -> None:
        """A detector that is done, or that failed and so has lost its thread: it hears nothing more."""
        self._listening = {
            kind: [detector for detector in listening if detector is not broken]
            for kind, listening in self._listening.items()
        }

    def _lose(self, broken: Fact, error: Exception) -> None:
        """A fact that missed an event is wrong, so the detectors that ask for it are too."""
        self._facts = {
            kind: [fact for fact in facts if fact is not broken] for kind, facts in self._facts.items()
        }
        for detector in self._detectors:
            if type(broken) in detector.uses:
                self._retire(detector)
        self.fault(type(broken).__name__, error)

    def _say(self, finding: Finding) -> None:
        same = self._identity(finding)
        if same in self._said:
            return
        self._said.add(same)
        self._counts[finding.code, finding.where] += 1
        if self._counts[finding.code, finding.where] > MOST_OF_A_PLACE:
            return  # `close` says how many
        (finding,) = with_proofs([with_capsule(finding, self.capsules)], self._proofs, self._cards)
        finding = proved(self._silence.apply(finding), self._suspicions)
        if any(is_same(known, finding) for known in self._found):
            return
        past, self._found = self._found, [*without_surpassed(self._found, finding), finding]
        if self.journal is not None:
            self.journal.finding(finding)
        if self._attachment is not None:
            self._attachment.alarm()
        told = next((f for f in self.findings if self._identity(f) == same), None)
        if told is not None:  # else a finding before it explains it
            self._tell(told)
        if not shown_findings([finding]):
            return
        if finding.name in policy.ASKED_FOR or self.policy.decide(finding, past) is Decision.STOP:
            self.stopping = finding

    def _explain(self, event: Autopsied) -> None:
        """Findings about that step are told once more, with what was proved."""
        told = self.findings
        self._proofs.append(event.record)
        self._found = with_proofs(self._found, self._proofs, self._cards)
        for finding in self.findings:
            if finding not in told:
                self._tell(finding)

    def unexplained(self, capsule: Path) -> bool:
        """Whether running that step again would tell anything new."""
        failures = [f for f in self.findings if f.evidence.get("capsule")]
        about = [f for f in failures if f.evidence["capsule"] == str(capsule)]
        # Of a failure that no finding is about, the one before it is taken to be the cause.
        return not any(f.certainty is Certainty.PROVED and f.evidence.get("op") for f in about or failures)

    @property
    def _suspicions(self) -> tuple[Suspicion, ...]:
        return self._court.suspicions if self._court is not None else ()

    def _identity(self, finding: Finding) -> tuple[Any, ...]:
        return identity(finding, self._cards.get(finding.code))

    def _count_the_rest(self) -> None:
        """The last finding at a place where there were too many says how many more there were."""
        for (code, where), number in self._counts.items():
            last = next((f for f in reversed(self._found) if (f.code, f.where) == (code, where)), None)
            if number > MOST_OF_A_PLACE and last is not None:
                more = number - MOST_OF_A_PLACE
                told = replace(last, message=f"{last.message} (and {more} more)").with_evidence(more=more)
                self._found = [told if f is last else f for f in self._found]
                if self.on_problem is not None:
                    self.on_problem(f"{code} {last.name}: and {more} more")

    def _tell(self, finding: Finding) -> None:
        if self.on_finding is not None:
            self.on_finding(finding)
        if self.relay is not None:
            self.relay.finding(finding)

    def fault(self, unit: str, error: BaseException) -> None:
        """A bug of ours: written down, never raised."""
        if self.journal is not None:
            self.journal.fault(unit, error)

    def _probe_failed(self, unit: str, error: BaseException) -> None:
        """A gap in what the detectors hear looks like a mistake of the user's: better silent than wrong."""
        self.fault(unit, error)
        if unit in _VITAL and self._listening:
            self._listening = {}
            self.missed["probe"] = (
                f"everything after step {self.reached()}: premortem's own look at each {unit} failed"
            )

    @property
    def findings(self) -> list[Finding]:
        """Root causes, errors first."""
        return shown_findings(fold(self._found, self._cards))

    @property
    def silenced(self) -> int:
        """Root causes that the settings or a comment silence."""
        return len(fold(self._found, self._cards)) - len(self.findings)

    def gaps(self) -> list[str]:
        """What was not looked at, although steps were seen."""
        broken = list(self._broken)
        gaps = list(self.missed.values())
        if len(broken) == len(self._detectors):
            gaps.append("anything: all diagnoses failed, for faults of premortem's own")
        elif broken:
            more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
            gaps.append(
                f"{', '.join(broken[:3])}{more}: the diagnosis failed, for a fault of premortem's own"
            )
        return gaps

    # -- attaching ------------------------------------------------------------------------

    def attach(self) -> None:
        """Install the probes in torch, which is imported if it was not."""
        if self._attachment is None:
            from premortem.actions.stop_ranks import Together
            from premortem.probes import Attachment

            self._attachment = Attachment(self.emit, self._probe_failed)
            _attached.append(self)
            self._together = Together(self._attachment.ranks)
            self._attachment.ranks.say = self.on_problem
            self._attachment.optimizers.after_step.append(self._stepped)
            if self.policy.refuses:
                from premortem.actions.guard import Guard

                self._attachment.guard = Guard(self._attachment, self._stop_if_decided)
                self._attachment.guard.install()
                from premortem.actions.smaller_batches import Splitter

                Splitter(self._attachment).install()
            if self.journal is not None and self._argv:
                self.journal.gauges.append(environment.device_memory)
                self.journal.accounts |= environment.accounts()
                from premortem.replay.capsule_writer import Capsules

                folder = self.journal.path.parent / "capsules"
                self._capsules = Capsules(
                    self._attachment,
                    folder,
                    self._argv,
                    self._cwd,
                    self._capsule_promised,
                    self._on_capsule or (lambda _path: None),
                )
                self._keep_safe(self._attachment, self.journal)
            if self._audience is not None:
                self._audience.attached(self)

    def _keep_safe(self, attachment: Attachment, journal: Journal) -> None:
        from premortem.actions.checkpoint_safety import Safekeeping
        from premortem.actions.requests import Requests

        folder = journal.path.parent
        say = self.on_problem or (lambda _sentence: None)
        self.safekeeping = Safekeeping(
            attachment,
            folder,
            mirror=self.mirror,
            deadline=self.deadline,
            changes=self.policy.refuses,
            settle=self._stop_if_decided,
            say=say,
            have_done=self._have_done,
        )
        self.safekeeping.saving.ours |= {
            "capsules": self._give_up_capsules,
            "the journal": functools.partial(self._give_up_journal, journal, say),
        }
        self.safekeeping.install()
        requests = Requests(folder, self.safekeeping, journal.note, say)
        journal.looks.append(requests.look)
        attachment.optimizers.after_step.append(requests.stepped)
        attachment.optimizers.at_leisure |= {requests.stepped, self.safekeeping.stepped}
        if self.on_step is not None:
            attachment.optimizers.at_leisure.add(self.after_each_step(self.on_step))

    def _give_up_capsules(self, near: Path) -> bool:
        """The disk is full, and a checkpoint of the script's is worth more than a step that can be run again."""
        given_up = [path for path in self.capsules if on_the_disk_of(path, near)]
        for path in given_up:
            shutil.rmtree(path, ignore_errors=True)
        self.capsules = [path for path in self.capsules if path not in given_up]
        return bool(given_up)

    def _give_up_journal(self, journal: Journal, say: Callable[[str], None], near: Path) -> bool:
        if not journal.path.exists() or not on_the_disk_of(journal.path, near):
            return False
        kept = journal.give_way()
        say(f"the disk is full, and the journal gave way; {f'it is in {kept}' if kept else 'it is lost'}")
        return True

    def _capsule_promised(self, path: Path, step: int) -> None:
        self.capsules.append(path)
        self._found = [with_capsule(finding, self.capsules) for finding in self._found]

    def introduce(self, objects: Sequence[Any]) -> None:
        """Models and optimizers that were built before the probes were installed."""
        if self._attachment is not None:
            self._attachment.introduce(objects)

    def after_each_step(self, call: Callable[[], None]) -> Callable[..., None]:
        """`call` at every step boundary from now on. What it raises ends the loop there."""

        def stepped(*_: Any) -> None:
            call()

        if self._attachment is not None:
            self._attachment.optimizers.after_step.append(stepped)
        return stepped

    def _stepped(self, *_: Any) -> None:
        if self._reading is not None:
            self._read_beside()
        among_ranks = self._attachment is not None and self._attachment.ranks.exchange is not None
        if self.stopping is not None or among_ranks:
            self._stop_if_decided()

    def _stop_if_decided(self) -> None:
        # At a step boundary, where weights and optimizer agree, and every rank with every other.
        stopping = self.stopping if self._together is None else self._together.due(self.stopping)
        if stopping is not None:
            self.stopping = stopping
            if self.stopping.name in policy.WEIGHTS_ARE_GOOD:
                self._keep_last_good()
            stop(self.stopping)

    def _keep_last_good(self) -> None:
        if self._attachment is None or self.journal is None:
            return
        from premortem.actions.keep import keep

        try:
            path = keep(self.journal.path.parent, self.steps, self._attachment.training_state())
        except Exception as error:  # noqa: BLE001 - a full disk must not keep the run from being stopped
            self.fault("keep", error)
            told = f"the last good weights could not be saved ({error})"
        else:
            told = f"the last good weights are in {path}"
        if self.on_problem is not None:
            self.on_problem(told)

    def attach_when_torch_arrives(self) -> None:
        """Attach right after the script's own `import torch`, so that a script without it pays nothing."""
        self._there_before = "torch" in sys.modules
        self._hook = ImportHook("torch", self._arrived)
        self._hook.wait()

    def look_for_torch(self) -> None:
        """torch may have come by a way that no import hook sees. Asked now and then; costs next to nothing."""
        if self._hook is not None and self._hook.waits and self.own:
            self._hook.look()

    def _arrived(self) -> None:
        if not self.own:
            return  # a fork, which is not this run
        try:
            self.attach()
            if self._attachment is not None and self._hook is not None:
                # torch may be imported by a thread that only prepares; probes/training_thread.py follows the one that trains.
                self._attachment.session.thread = threading.main_thread().ident or 0
            if self._hook is not None and (self._hook.late or self._there_before):
                self.introduce(self._around())
        except Exception as error:  # noqa: BLE001 - better unwatched than not run
            self.fault("attach", error)
            self.missed["attach"] = (
                f"premortem could not attach to this torch ({type(error).__name__}: {error})"
            )
            if self.on_problem is not None:
                self.on_problem("premortem could not attach to this torch; the run goes on unwatched")
            return
        if self._hook is not None and self._hook.late:
            self.missed["late"] = "what was done with torch before premortem saw that it was there"

    def _around(self) -> list[Any]:
        """Models and optimizers that exist already."""
        from premortem.probes.existing_objects import existing

        return existing()

    @property
    def optimizers(self) -> int:
        """How many were seen."""
        if self._attachment is not None:
            self._optimizers = max(self._optimizers, len(self._attachment.optimizers.tracks))
        return self._optimizers

    @property
    def own(self) -> bool:
        """Of this process, and not of one that it was forked from."""
        return os.getpid() == self._pid

    def abandon(self) -> None:
        """In a fork: the run is the parent's, and its probes have nothing to look for here."""
        if self._attachment is not None:
            self._attachment.abandon()
            self._attachment = None
            _attached.remove(self)

    def close(self, ended: RunEnded | None = None, patience: float = 0.0) -> None:
        """The run is over: let detectors speak a last time, and leave torch as it was.

        The mirror is waited for, for as many seconds as there is `patience`."""
        if self._attachment is not None:
            self._attachment.drain()
        if self._capsules is not None:
            self._capsules.close()
        if self.safekeeping is not None:
            try:
                self.safekeeping.close(patience)
            except Exception as error:  # noqa: BLE001 - the last words must still be said
                self.fault("safekeeping", error)
        event = replace(ended or RunEnded(), step=self.reached())
        if self.reached() or event.reason == "crashed":
            self._read_beside(PATIENCE)
        if self._attachment is not None and event.error == OUT_OF_MEMORY:
            self._attachment.memory.ended(getattr(sys, "last_value", None))
        if self._attachment is not None and event.reason == "crashed":
            self._attachment.trail.ended(getattr(sys, "last_value", None), event)
        self.emit(event)
        self._count_the_rest()
        _ = self.optimizers  # how many there were is asked later, when the probes are gone
        if self._hook is not None:
            self._hook.leave()
        if self.safekeeping is not None:
            self.safekeeping.remove()
            self.safekeeping = None
        if self._attachment is not None:
            self._attachment.detach()
            self._attachment = None
            _attached.remove(self)


def with_capsule(finding: Finding, capsules: Sequence[Path]) -> Finding:
    """A finding about numbers points to the capsule of the step it is about."""
    if "capsule" in finding.evidence or not finding.family.startswith(("numerics", "exploding")):
        return finding
    step = of_which(finding.step, map(step_of, capsules))
    path = next((path for path in capsules if step_of(path) == step), None)
    if path is None:
        return finding
    proof = f"`premortem replay {shown(path)}` runs that step again, with one thing changed at a time."
    remedy = f"{finding.remedy} {proof}".strip()
    return replace(finding, remedy=remedy, evidence={**finding.evidence, "capsule": str(path)})


def on_the_disk_of(path: Path, near: Path) -> bool:
    try:
        return path.stat().st_dev == near.parent.stat().st_dev
    except OSError:
        return False


def step_of(capsule: Path) -> int:
    return int(capsule.name.rpartition("-")[2])


def shown(path: Path) -> str:
    """Relative where that is possible: it is meant to be copied into a terminal."""
    with suppress(ValueError):
        return str(path.relative_to(working_folder()))
    return str(path)


def working_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was deleted under us
        return ""


class watch:  # noqa: N801 - used like a function: `with premortem.watch(model, optimizer):`
    """Watch a loop from inside: a script, a notebook cell, a test.

        with premortem.watch():
            train()

    or, without a block, `watcher = premortem.watch()` and later `watcher.close()`. Models and optimizers may
    be given so that ones built before are known; it is not needed. `sinks` and `notify` are lists of what
    `premortem run` takes as `--sink` and `--notify`.
    """

    def __init__(
        self,
        *objects: Any,
        policy: str = "observe",
        quiet: bool = False,
        sinks: Sequence[str] = (),
        notify: Sequence[str] = (),
    ) -> None:
        from premortem.notebook.ipython import face
        from premortem.terminal.console import Console

        console = Console(mute=quiet)
        self._face = None if quiet else face()
        relay = None
        if sinks or notify:
            from premortem.sinks import chosen
            from premortem.sinks.relay import Relay

            relay = Relay(chosen(sinks, notify), console.problem)
        told = console.finding if self._face is None else self._found
        silence = Silence(shared(Path(working_folder())))
        self._watcher = Watcher(
            policy, on_finding=told, on_problem=console.problem, relay=relay, silence=silence
        )
        self._watcher.attach()
        if self._face is not None:
            self._face.began()
        self._watcher.introduce(objects)

    @property
    def findings(self) -> list[Finding]:
        return self._watcher.findings

    @property
    def steps(self) -> int:
        return self._watcher.reached()

    def close(self) -> None:
        self._end(RunEnded())

    def _found(self, finding: Finding) -> None:
        if self._face is not None:
            self._face.found(finding, self.findings, self.steps)

    def _end(self, ended: RunEnded) -> None:
        self._watcher.close(ended)
        face, self._face = self._face, None
        if face is not None:
            face.ended(self.findings, self.steps, ended)
        if self._watcher.relay is not None:
            from premortem.sinks.base import Outcome

            steps = self._watcher.reached()
            self._watcher.relay.close(Outcome(reason=ended.reason, steps=steps, findings=self.findings))

    def __enter__(self) -> watch:  # noqa: PYI034 - `Self` is not in Python 3.10
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        reason = "finished" if kind is None else "crashed"
        self._end(RunEnded(reason=reason, error=kind.__name__ if kind else "", message=str(error or "")))
