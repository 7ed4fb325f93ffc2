"""The watcher joins the rooms: probes -> events -> detectors -> findings -> policy -> actions.

The middle of the program is `emit`, and it fits on one screen.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from premortem import detectors, events, gauges, policy
from premortem.actions.stop import stop
from premortem.arrivals import ImportHook
from premortem.detectors.facts import Fact, Facts
from premortem.events import OUT_OF_MEMORY, Event, LogLine, RunEnded, RunStarted, StepStats
from premortem.failures import Failures
from premortem.findings import Finding
from premortem.folding import fold, without_surpassed
from premortem.phases import Phases
from premortem.policy import Decision
from premortem.windows import Windows

if TYPE_CHECKING:
    from premortem.actions.safekeeping import Safekeeping
    from premortem.actions.together import Together
    from premortem.journal.write import Journal
    from premortem.probes import Attachment
    from premortem.sinks.relay import Relay
    from premortem.vault.deadline import Deadline
    from premortem.vault.mirror import Mirror

# What the detectors' picture of a step is made of.
_VITAL = frozenset({"forward", "backward", "optimizer step", "optimizer built", "scheduler step"})
_ABOUT = 64  # steps after a failure in which findings are still about it
# Events worth keeping besides the series of steps. All are rare: none is made in every step.
_KEPT = (
    events.BatchSplit,
    events.CheckpointSaved,
    events.Custody,
    events.DeadlineMet,
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
    """Somebody who follows a watched run: a rehearsal."""

    def arriving(self) -> None:
        """torch is there, the probes are not."""

    def attached(self, watcher: Watcher) -> None: ...

    def heard(self, event: Event) -> None: ...


_attached: list[Watcher] = []


def watched() -> bool:
    """Whether somebody watches this process: `premortem run`, a door, a block around."""
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
    ) -> None:
        self.policy = policy.by_name(policy_name)
        self.journal = journal
        self.relay = relay
        self.on_finding = on_finding
        self.on_problem = on_problem
        self.on_step = on_step
        self._have_done = have_done
        self._audience = audience
        self.mirror = mirror
        self.deadline = deadline
        self.safekeeping: Safekeeping | None = None
        self.steps = 0
        self.latest: StepStats | None = None
        self._found: list[Finding] = []
        self._said: set[tuple[Any, ...]] = set()
        self._derivations = (Phases(), Windows(), Failures())
        self._detectors = [cls() for cls in detectors.ALL]
        self._cards = {cls.card.code: cls.card for cls in detectors.ALL}
        self._kept = frozenset(map(events.sent, _KEPT))
        self._listening: dict[type[Event], list[detectors.Detector]] = {}
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
        self.capsules: list[Path] = []  # of steps that failed
        self._argv: list[str] = []
        self._cwd = working_folder()
        self._attachment: Attachment | None = None
        self._together: Together | None = None
        self._hook: ImportHook | None = None
        self.stopping: Finding | None = None  # at which the run is to be ended

    # -- the loop -------------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        """One event through the whole of premortem. Raises only `Stopped`, only by policy."""
        if isinstance(event, LogLine):
            event = replace(event, step=self.reached())  # a printed line does not know how far the run is
        if events.seals:
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
        self._dispatch(event)
        for derivation in self._derivations:
            for derived in derivation.observe(event):
                if events.seals:
                    derived.seal()
                if self.journal is not None and type(derived) in self._kept:
                    self.journal.event(derived)
                self._dispatch(derived)

    def reached(self) -> int:
        """Steps so far, those that were not told among them."""
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
                self.fault(detector.card.name, error)

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
        same = (finding.code, finding.where)
        if same in self._said:
            return
        self._said.add(same)
        finding = with_capsule(finding, self.capsules)
        past, self._found = self._found, [*without_surpassed(self._found, finding), finding]
        if self.journal is not None:
            self.journal.finding(finding)
        if self._attachment is not None:
            self._attachment.alarm()
        told = next((f for f in self.findings if (f.code, f.where) == same), None)
        if told is not None:  # else a finding before it explains it
            self._tell(told)
        if finding.name in policy.ASKED_FOR or self.policy.decide(finding, past) is Decision.STOP:
            self.stopping = finding

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
        if unit in _VITAL:
            self._listening = {}

    @property
    def findings(self) -> list[Finding]:
        """Root causes, errors first."""
        return fold(self._found, self._cards)

    # -- attaching ------------------------------------------------------------------------

    def attach(self) -> None:
        """Install the probes in torch, which is imported if it was not."""
        if self._attachment is None:
            from premortem.actions.together import Together
            from premortem.probes import Attachment

            if self._audience is not None:
                self._audience.arriving()
            self._attachment = Attachment(self.emit, self._probe_failed)
            _attached.append(self)
            self._together = Together(self._attachment.ranks)
            self._attachment.ranks.say = self.on_problem
            self._attachment.optimizers.after_step.append(lambda *_: self._stop_if_decided())
            if self.policy.refuses:
                from premortem.actions.guard import Guard

                self._attachment.guard = Guard(self._attachment, self._stop_if_decided)
                self._attachment.guard.install()
                from premortem.actions.split import Splitter

                Splitter(self._attachment).install()
            if self.journal is not None and self._argv:
                self.journal.gauges.append(gauges.device_memory)
                self.journal.accounts |= gauges.accounts()
                from premortem.replay.capsules import Capsules

                folder = self.journal.path.parent / "capsules"
                Capsules(self._attachment, folder, self._argv, self._cwd, self._capsule_written)
                self._keep_safe(self._attachment, self.journal)
            if self._audience is not None:
                self._audience.attached(self)

    def _keep_safe(self, attachment: Attachment, journal: Journal) -> None:
        from premortem.actions.requests import Requests
        from premortem.actions.safekeeping import Safekeeping

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
        self.safekeeping.install()
        requests = Requests(folder, self.safekeeping, journal.note, say)
        journal.looks.append(requests.look)
        attachment.optimizers.after_step.append(requests.stepped)
        if self.on_step is not None:
            self.after_each_step(self.on_step)

    def _capsule_written(self, path: Path, step: int) -> None:
        self.capsules.append(path)
        self._found = [with_capsule(finding, self.capsules) for finding in self._found]

    def introduce(self, objects: Sequence[Any]) -> None:
        """Models and optimizers that were built before the probes were installed."""
        if self._attachment is not None:
            self._attachment.introduce(objects)

    def after_each_step(self, call: Callable[[], None]) -> None:
        """`call` at every step boundary from now on. What it raises ends the loop there."""
        if self._attachment is not None:
            self._attachment.optimizers.after_step.append(lambda *_: call())

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
        if "torch" in sys.modules:
            self.attach()
        else:
            self._hook = ImportHook("torch", self._arrived)
            sys.meta_path.insert(0, self._hook)

    def _arrived(self) -> None:
        try:
            self.attach()
        except Exception as error:  # noqa: BLE001 - better unwatched than not run
            self.fault("attach", error)
            if self.on_problem is not None:
                self.on_problem("premortem could not attach to this torch; the run goes on unwatched")

    def close(self, ended: RunEnded | None = None, patience: float = 0.0) -> None:
        """The run is over: let detectors speak a last time, and leave torch as it was.

        The mirror is waited for, for as many seconds as there is `patience`."""
        if self._attachment is not None:
            self._attachment.drain()
        if self.safekeeping is not None:
            try:
                self.safekeeping.close(patience)
            except Exception as error:  # noqa: BLE001 - the last words must still be said
                self.fault("safekeeping", error)
        event = replace(ended or RunEnded(), step=self.reached())
        if self._attachment is not None and event.error == OUT_OF_MEMORY:
            self._attachment.memory.ended(getattr(sys, "last_value", None))
        if self._attachment is not None and event.reason == "crashed":
            self._attachment.trail.ended(getattr(sys, "last_value", None), event)
        self.emit(event)
        if self._hook is not None and self._hook in sys.meta_path:
            sys.meta_path.remove(self._hook)
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
    # A finding may be told in the failed step, or a few steps later, when it was seen to stay.
    path = next((path for path in reversed(capsules) if step_of(path) <= finding.step + 1), None)
    if path is None or finding.step > step_of(path) + _ABOUT:
        return finding
    proof = f"`premortem replay {shown(path)}` runs that step again and proves the cause."
    remedy = f"{finding.remedy} {proof}".strip()
    return replace(finding, remedy=remedy, evidence={**finding.evidence, "capsule": str(path)})


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
        from premortem.cells import face
        from premortem.console import Console

        console = Console(quiet=quiet)
        self._face = None if quiet else face()
        relay = None
        if sinks or notify:
            from premortem.sinks import chosen
            from premortem.sinks.relay import Relay

            relay = Relay(chosen(sinks, notify), console.problem)
        told = console.finding if self._face is None else self._found
        self._watcher = Watcher(policy, on_finding=told, on_problem=console.problem, relay=relay)
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
