"""The watcher joins the rooms: probes -> events -> detectors -> findings -> policy -> actions.

The middle of the program is `emit`, and it fits on one screen.
"""

from __future__ import annotations

import functools
import linecache
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from premortem import detectors, events, policy
from premortem.derived.failures import Failures
from premortem.derived.phases import Phases
from premortem.derived.windows import Windows
from premortem.events import (
    OUT_OF_MEMORY,
    Autopsied,
    Event,
    LogLine,
    RunEnded,
    RunStarted,
    SamplesBroken,
    StepStats,
)
from premortem.findings import Finding
from premortem.policy import Decision
from premortem.run import environment
from premortem.run.detection import Detection
from premortem.run.found_so_far import FoundSoFar, working_folder
from premortem.run.kept_events import KEPT
from premortem.run.quarantine import Quarantine, drawn_for
from premortem.run.reading import PATIENCE
from premortem.run.stopping import Stopping
from premortem.run.suspicions import Suspicions
from premortem.run.torch_arrival import TorchArrival
from premortem.settings import Silence
from premortem.settings import shown as shown_findings

if TYPE_CHECKING:
    from premortem.actions.checkpoint_safety import Safekeeping
    from premortem.actions.samples_left_out import SamplesLeftOut
    from premortem.journal.write import Journal
    from premortem.probes import Attachment
    from premortem.replay.capsule_writer import Capsules
    from premortem.run.data_reading import DataReading
    from premortem.sinks.relay import Relay
    from premortem.vault.deadline import Deadline
    from premortem.vault.mirror import Mirror

# What the detectors' picture of a step is made of.
_VITAL = frozenset({"forward", "backward", "optimizer step", "optimizer built", "scheduler step"})


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


def current() -> Watcher | None:
    """The watcher of this process; None where it is not watched."""
    return next((each for each in reversed(_attached) if each.own), None)


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
        quarantine: Quarantine | None = None,
        reads: bool = False,
        data: DataReading | None = None,
    ) -> None:
        self._data = data
        self.quarantine = quarantine or Quarantine()
        self._leaving_out: SamplesLeftOut | None = None
        self.policy = policy.by_name(policy_name)
        self.journal = journal
        self.relay = relay
        self.on_finding = on_finding
        self.on_problem = on_problem
        self.on_step = on_step
        self._have_done = have_done
        self._audience = audience
        self._on_capsule = on_capsule
        self.mirror = mirror
        self.deadline = deadline
        self.safekeeping: Safekeeping | None = None
        self.steps = 0
        self.latest: StepStats | None = None
        self._found = FoundSoFar(
            {cls.card.code: cls.card for cls in detectors.ALL}, silence or Silence(), self._patched
        )
        self._derivations = (Phases(), Windows(), Failures())
        self._detection = Detection(self._say, self.fault)
        self._dispatch = self._detection.dispatch
        if audience is not None:
            self._dispatch = functools.partial(self._dispatch_before, audience)
        self._suspicions = Suspicions(self.fault) if reads else None
        self.silence = self._detection.silence
        self._kept = frozenset(map(events.sent, KEPT))
        self._capsules: Capsules | None = None
        self._begun = False  # as a run, which has a folder
        self._argv: list[str] = []
        self._cwd = working_folder()
        self._attachment: Attachment | None = None
        self._arrival: TorchArrival | None = None
        self._stopping = Stopping(self)
        self._pid = os.getpid()
        self._optimizers = 0
        self.missed: dict[str, str] = {}  # what was not looked at, by what kept us from it

    # -- the loop -------------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        """One event through the whole of premortem. Raises only `Stopped`, only by policy."""
        if isinstance(event, LogLine):
            event = replace(event, step=self.reached())  # a printed line does not know how far the run is
        if events.base.seals:
            event.seal()
        self.steps = max(self.steps, event.step)
        if isinstance(event, RunStarted):
            self._begun, self._argv = True, list(event.argv)
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
        elif isinstance(event, SamplesBroken):
            self.quarantine.observe(event)
        elif isinstance(event, Autopsied):
            self.quarantine.observe(event)
            for finding in self._found.prove(event.record):
                self._tell(finding)
        self._dispatch(event)
        if self._suspicions is not None and type(event) in self._suspicions.listens:
            for finding in self._suspicions.observe(event):
                self._say(finding)
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

    def _read_beside(self, patience: float = 0.0) -> None:
        """Begins to read the script's files at its first step; what was read goes to whoever listens."""
        if self._suspicions is None:
            return
        read = self._suspicions.read(self._attachment, self.reached(), patience)
        if read is not None:
            for finding in self._found.read(read.suspicions):
                self._tell(finding)
            self.emit(read)

    def _look_at_data(self, *, last: bool = False) -> None:
        """The files that were opened by the first step are looked at beside the run; what is found there is reported here."""
        if self._data is None or self._data.over or self._attachment is None:
            return
        if not self._data.begun:
            self._data.begin(self._attachment.reading.with_rows())
        said = self._data.take(last=last)
        if said is not None:
            self._found.introduce(said.cards)
            for finding in said.findings:
                self._say(finding)

    def _dispatch_before(self, audience: Audience, event: Event) -> None:
        audience.heard(event)
        self._detection.dispatch(event)

    def _read_ahead(self) -> None:
        """The first finding waits a moment for the files, so that it is shown once, at its place and with its fix."""
        if self._suspicions is None or not self._suspicions.unread:
            return
        here = threading.current_thread() is threading.main_thread()
        read = self._suspicions.ahead(here and self.reached() > 0)
        if read is not None:
            for finding in self._found.read(read.suspicions):
                self._tell(finding)

    def _patched(self, finding: Finding) -> Finding:
        """With the edit of the source that removes the cause, where there is one."""
        if finding.patch is not None or not finding.where.file:
            return finding
        try:
            from premortem.changes import patches

            return finding.with_patch(patches.of(finding, "".join(linecache.getlines(finding.where.file))))
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.fault("patches", error)
            return finding

    def _say(self, said: Finding) -> None:
        self._read_ahead()
        past = self._found.all
        finding = self._found.add(said)
        if finding is None:
            return
        if self.journal is not None:
            self.journal.finding(finding)
        # A refused step has its microscope and its autopsy: an audit of a large model costs more than a step.
        if self._attachment is not None and finding.name != "update-refused":
            self._attachment.alarm()
            if finding.name == "metric-not-finite":
                self._attachment.nonfinite_origin.microscope_schedule.look_at_evaluations()
        shown = self._found.folded(finding)
        if shown is not None:  # else a finding before it explains it
            self._tell(shown)
        if not shown_findings([finding]):
            return
        if finding.name in policy.ASKED_FOR or self.policy.decide(finding, past) is Decision.STOP:
            self._stopping.finding = finding
            if self._attachment is not None:
                self._attachment.optimizers.hurry()

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
        if unit in _VITAL and self._detection.end():
            self.missed["probe"] = (
                f"everything after step {self.reached()}: premortem's own look at each {unit} failed"
            )

    def say_problem(self, sentence: str) -> None:
        if self.on_problem is not None:
            self.on_problem(sentence)

    @property
    def stopping(self) -> Finding | None:
        """At which the run is to be ended."""
        return self._stopping.finding

    @property
    def attachment(self) -> Attachment | None:
        """The probes, while they are installed."""
        return self._attachment

    @property
    def findings(self) -> list[Finding]:
        """Root causes, errors first."""
        return self._found.shown

    @property
    def silenced(self) -> int:
        return self._found.silenced

    @property
    def capsules(self) -> list[Path]:
        """Of steps that failed."""
        return self._found.capsules

    @property
    def left_out(self) -> list[str]:
        """What the run was not given, one sentence for each dataset. Empty without a quarantine."""
        if self.quarantine.file is None:
            return []
        return self.quarantine.sentences(self._leaving_out.left_out if self._leaving_out is not None else {})

    def unexplained(self, capsule: Path) -> bool:
        """Whether running that step again would show anything new."""
        another = self.quarantine.new and not self.quarantine.knows(drawn_for(capsule))
        return bool(another) or self._found.unexplained(capsule)  # another sample may be the cause

    def gaps(self) -> list[str]:
        """What was not looked at, although steps were seen."""
        return [*self.missed.values(), *self._detection.gaps()]

    # -- attaching ------------------------------------------------------------------------

    def attach(self) -> None:
        """Install the probes in torch, which is imported if it was not."""
        if self._attachment is None:
            from premortem.actions.stop_ranks import Together
            from premortem.probes import Attachment

            self._attachment = attachment = Attachment(self.emit, self._probe_failed)
            _attached.append(self)
            self._stopping.together = Together(attachment.ranks)
            attachment.ranks.say, attachment.ranks.gaps = self.on_problem, self.missed
            attachment.optimizers.after_step.append(self._stepped)
            attachment.optimizers.at_leisure.add(self._stepped)
            attachment.ranks.joined.append(self._stepped)
            attachment.backwards.without_steps = self._went_back
            if self.policy.refuses:
                from premortem.actions.guard import Guard

                attachment.guard = Guard(attachment, self._stopping.stop_if_decided)
                attachment.guard.install()
                from premortem.actions.smaller_batches import Splitter

                Splitter(attachment).install()
            from premortem.actions.samples_left_out import BrokenSamples, SamplesLeftOut

            BrokenSamples(attachment)
            if self.quarantine.samples:
                self._leaving_out = SamplesLeftOut(attachment, self.quarantine.by_dataset())
                self._leaving_out.install()
            if self.journal is not None and self._begun:
                self._protect(attachment, self.journal)
            if self._audience is not None:
                self._audience.attached(self)

    def _protect(self, attachment: Attachment, journal: Journal) -> None:
        """What needs a run folder: capsules of steps that fail, and checkpoints."""
        from premortem.run import safety

        journal.gauges.append(environment.device_memory)
        journal.accounts |= environment.accounts()
        if self._argv:  # without a command there is nothing to run again
            self._capsules = safety.capsules(
                attachment,
                journal,
                self._argv,
                self._cwd,
                self._found,
                self._on_capsule or (lambda _path: None),
            )
        self.safekeeping = safety.safekeeping(
            attachment,
            journal,
            self._found,
            mirror=self.mirror,
            deadline=self.deadline,
            changes=self.policy.refuses,
            settle=self._stopping.stop_if_decided,
            say=self.say_problem,
            have_done=self._have_done,
        )
        if self.on_step is not None:
            attachment.optimizers.at_leisure.add(self.after_each_step(self.on_step))

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
        if self._suspicions is not None and self._suspicions.unread:
            self._read_beside()
        if self._data is not None and not self._data.over:
            self._look_at_data()
        among_ranks = self._attachment is not None and self._attachment.ranks.exchange is not None
        if self.stopping is not None or among_ranks:
            self._stopping.stop_if_decided()

    def _went_back(self) -> None:
        """After a backward pass of a run that has made no step. Alone only: with others a stop is agreed on by step."""
        if (
            self.stopping is not None
            and self._attachment is not None
            and self._attachment.ranks.exchange is None
        ):
            self._stopping.stop_if_decided()

    def attach_when_torch_arrives(self) -> None:
        self._arrival = TorchArrival(self)
        self._arrival.wait()

    def look_for_torch(self) -> None:
        """Asked now and then; costs next to nothing."""
        if self._arrival is not None:
            self._arrival.look()

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
            except Exception as error:  # noqa: BLE001 - the last words must still come
                self.fault("safekeeping", error)
        event = replace(ended or RunEnded(), step=self.reached())
        if self._attachment is not None and (self.reached() or event.reason == "crashed"):
            self._read_beside(PATIENCE)
            if event.reason != "interrupted":  # after a signal there may be few seconds left
                self._look_at_data(last=True)
        if self._data is not None:
            self._data.close()
        if self._attachment is not None and event.error == OUT_OF_MEMORY:
            self._attachment.memory.ended(getattr(sys, "last_value", None))
        if self._attachment is not None and event.reason == "crashed":
            self._attachment.trail.ended(getattr(sys, "last_value", None), event)
        self.emit(event)
        for sentence in self._found.count_the_rest():
            self.say_problem(sentence)
        _ = self.optimizers  # how many there were is asked later, when the probes are gone
        self._leave_torch()

    def stand_aside(self) -> None:
        """What trains in this process from here on is not this run's."""
        if self._attachment is not None:
            self._attachment.drain()
        if self._capsules is not None:
            self._capsules.close()
        if self.safekeeping is not None:
            self.safekeeping.close(0.0)
        _ = self.optimizers
        self._leave_torch()

    def _leave_torch(self) -> None:
        if self._arrival is not None:
            self._arrival.leave()
        if self.safekeeping is not None:
            self.safekeeping.remove()
            self.safekeeping = None
        if self._attachment is not None:
            self._attachment.detach()
            self._attachment = None
            _attached.remove(self)
