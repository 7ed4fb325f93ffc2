"""Rest. Of a loop that repeats itself, a few whole rounds now and then are reported to the detectors.

    reported ... reported | counted ... counted | reported reported | counted counted ...
    the first steps         nothing new           a look              until the next one can be paid

A *round* is what happens between two optimizer steps. In a reported round every point speaks, and the detectors hear all of
it. In a counted one the points are switches that are off (`points.silence`): calls of models, backward passes, clearings and
the like only raise a number, the guard still refuses a step that is not finite, and the recorder still keeps what a replay
needs. `OptimizerStep.rested` says how many steps of that optimizer were counted since the last reported one.

Looks are paid from a credit in events, which every step and every second of training adds to: a loop of short steps and one
of long steps are both looked at for about a hundredth of their time. What is new (a model, a mode, a round never met before, a
number that is not finite) is looked at once, whatever it costs; what is known and odd (an evaluation, a round out of its
place) when it can be paid.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from premortem.events import (
    Backward,
    BatchDrawn,
    Clip,
    Event,
    Forward,
    LossCall,
    LossTested,
    OptimizerStep,
    StepStats,
    ZeroGrad,
)
from premortem.probes.rhythm import ALIKE, Rhythm
from premortem.probes.session import Session

if TYPE_CHECKING:
    from premortem.probes.gradient_track import Track
    from premortem.probes.model_registry import Model, Variant
    from premortem.probes.optimizers import Optimizers

# Steps that are reported one by one. Reporting a short step takes about 1 ms, twice as long as making it: with the audits among
# them, about half a second, as long as importing a library. Then a loop of ten rounds was seen twenty times. A step of many
# events (of micro-batches, of an agent that acts before it learns) costs as many times that: there as many events are enough.
AFTER, ENOUGH, AT_LEAST = 200, 1600, 64
ATTENDED = 2  # periods of the loop that a look takes
AFTER_AN_EVALUATION = 3  # steps: an evaluation is known to be over when two steps came without another one
# Events that a step, and a second of training, add to the credit. With all that is looked at for it, an event costs the run 300 to
# 450 µs: that is a hundredth of each second, of the first 2000 steps a tenth is reported, and later 8 µs are added to each.
YOUNG, A_STEP_OF_A_YOUNG_RUN, A_STEP, A_SECOND = 2000, 0.5, 0.02, 25.0
_LOOKS_AHEAD = 4  # what can be saved up
_MOST_NEWS = 256  # a script in which everything is new all the time must not be reported all the time
_LOUDER = 1e4  # times the largest loss so far: a step after which gradients are looked at more closely
_NUMBERS = (StepStats, BatchDrawn)  # they come when they come


class Rest:
    """Decides at the end of each step whether the next one is reported. Until then it counts, in every gear."""

    def __init__(self, session: Session, optimizers: Optimizers) -> None:
        self.session = session
        self.optimizers = optimizers
        self.after = AFTER
        self._heard = 0  # events, until then
        self.untold = 0  # steps since the last reported one
        self.rhythm = Rhythm()
        # Of this round:
        self.calls: dict[Variant, None] = {}
        self.backwards = self.clips = self.schedules = 0
        self.cleared: list[int] = []  # id() of what gradients were cleared of: optimizers, models
        self.dark = (
            False  # a forward or backward pass was not reported: only the end of the step can end the rest
        )
        self.careful = False  # its loss is not finite, or out of all proportion
        # What is known of the loop:
        self.known: dict[Variant, Model] = {}  # calls that were reported
        self.usual: dict[Variant, Model] = {}  # those of them that are part of its rounds
        self._seen: dict[Variant, tuple[int, int]] = {}  # the last two steps in which each was made
        self._told: list[Any] = []  # what was reported in this round
        self._rounds: set[tuple[Any, ...]] = set()
        self._kinds: set[Any] = set()  # of events
        self._news = 0
        self._clearings: dict[int, ZeroGrad] = {}  # the last reported one, by what was cleared
        self.loudest = 0.0
        # Since when, and until when:
        self._calm = 0  # rounds without news
        self._needed = 2 * ALIKE  # of them, before it rests
        self._disturbed = False
        self._credit = 0.0
        self._price = 16.0  # of a look, in events
        self._spent = 0
        self.clock = time.perf_counter()

    # -- what is reported ---------------------------------------------------------------------------

    def hears(self, event: Event) -> None:
        """Every event, on its way to the detectors."""
        self._spent += 1
        if isinstance(event, _NUMBERS):
            return
        kind = signature(event)
        if self.session.resting:
            if kind not in self._kinds:
                self._kinds.add(kind)
                self.disturb()
            return
        if len(self._told) < 64:
            self._told.append(kind)
        if len(self._kinds) < 4096:
            self._kinds.add(kind)
        if isinstance(event, ZeroGrad) and self.cleared:
            self._clearings[self.cleared[-1]] = event

    # -- what is counted, in every gear -----------------------------------------------------------

    def called(self, variant: Variant, model: Model) -> None:
        """In a reported round: the script called this model."""
        self.calls[variant] = None
        self.known[variant] = model

    def meets(self, variant: Variant, *, new: bool) -> None:
        """In a rested round a model was called that its rounds do not call so: an evaluation, or something new."""
        self.calls[variant] = None
        if self.dark:
            self._disturbed = self._disturbed or new
        elif new or self._credit >= 0:
            self._end(2 * ALIKE if new else AFTER_AN_EVALUATION)

    def clears(self, owner: Any, *args: Any, **kwargs: Any) -> None:
        self.cleared.append(id(owner))

    def lost(self, value: float) -> bool:
        """The loss of a backward pass, where it can be read. Whether it is finite."""
        size = abs(value)
        if size <= self.loudest:
            return True
        if not math.isfinite(size):
            self._disturbed = self.careful = True
            return False
        self.careful = self.loudest > 0 and size > _LOUDER * self.loudest
        self.loudest = size
        return True

    def disturb(self) -> None:
        """Something else than usual: the detectors must hear what follows."""
        if not self.session.resting:
            return
        if self.dark:
            self._disturbed = True
        else:
            self._end(2 * ALIKE)

    def wake(self) -> None:
        """... and this round will not be ended by a step."""
        if self.session.resting:
            self._end(2 * ALIKE)

    # -- the end of a step ------------------------------------------------------------------------

    def _round(self, track: Track, trace: Any) -> bool:
        """Close the round. Whether it is news."""
        token = (
            track.key,
            tuple(self.calls),
            self.backwards,
            len(self.cleared),
            self.clips,
            self.schedules,
            trace,
        )
        step = self.session.step
        for variant in self.calls:
            self._seen[variant] = (self._seen.get(variant, (0, 0))[1], step)
        self.calls = {}
        self.backwards = self.clips = self.schedules = 0
        if self.cleared:
            self.cleared = []
        self.dark = self.careful = False
        rhythm = self.rhythm
        if (
            number := rhythm.numbers.get(token)
        ) is not None:  # as `heard`, without another call in every step
            rhythm.recent.append(number)
            return False
        return rhythm.heard(token) and step >= self.after

    def step_told(self, track: Track, trace: Any) -> None:
        """At the end of a reported step."""
        self.untold = 0
        news = self._round(track, trace)
        told, self._told = tuple(self._told), []
        session = self.session
        if session.step < self.after or session.auditing:
            self._heard += self._spent
            if self._heard >= ENOUGH and session.step >= AT_LEAST:
                self.after = min(self.after, session.step)
            self._calm = self._spent = 0
            if not session.auditing:
                self._rounds.add(told)
            return
        self._pay()
        if told not in self._rounds and len(self._rounds) < _MOST_NEWS:
            self._rounds.add(told)
            news = True
        self._calm = 0 if news else self._calm + 1
        if self._calm >= self._needed or self._credit < -4 * self._price - 256:
            self._begin()

    def step_rested(self, track: Track, trace: Any, audited: bool) -> bool:
        """At the end of a step that was not, after which an audited one may come. Whether it rests on."""
        self.untold += 1
        news = self._round(track, trace)
        now = time.perf_counter()
        step = A_STEP_OF_A_YOUNG_RUN if self.session.step < YOUNG else A_STEP
        self._credit += A_SECOND * (now - self.clock) + step - self._spent
        self.clock, self._spent = now, 0
        if audited or self._disturbed:
            self._end(2 * ALIKE)
        elif news and self._news < _MOST_NEWS:
            self._news += 1
            self._end(2 * ALIKE)
        elif self._credit >= 0 and (self._credit >= self._price or self.rhythm.slipped()):
            self._credit = min(self._credit, _LOOKS_AHEAD * self._price)
            self._end(0)
        return self.session.resting

    def _pay(self) -> None:
        """Pay for what was reported of this step, from what it and the time since the last one have earned."""
        now = time.perf_counter()
        step = A_STEP_OF_A_YOUNG_RUN if self.session.step < YOUNG else A_STEP
        earned = self._credit + A_SECOND * (now - self.clock) + step
        self._credit = min(earned, _LOOKS_AHEAD * self._price) - self._spent
        self.clock, self._spent = now, 0

    # -- from one to the other ----------------------------------------------------------------------

    def _begin(self) -> None:
        session = self.session
        period = self.rhythm.find() or ALIKE
        horizon = session.step - 2 * period
        usual = [variant for variant, (before, _) in self._seen.items() if before >= horizon]
        self.usual = {variant: self.known[variant] for variant in usual if variant in self.known}
        if len(self._seen) > 1024:  # models come and go
            self.known = dict(self.usual)
            self._seen = {variant: self._seen[variant] for variant in usual}
        self._price = max(8.0, ATTENDED * period * self._events_in_a_round())
        self._disturbed = False
        session.resting = True
        session.silence(True)

    def _events_in_a_round(self) -> float:
        return sum(map(len, self._rounds)) / max(1, len(self._rounds)) + 1

    def _end(self, needed: int) -> None:
        """As at the end of a reported step; clearings since then are reported now."""
        session = self.session
        period = self.rhythm.period or 1
        self._needed = max(needed, ATTENDED * period)
        self._calm = 0
        session.resting = False
        session.silence(False)
        self._told = []
        clearings = [self._clearings[owner] for owner in self.cleared if owner in self._clearings]
        self.optimizers.rested({key for event in clearings for key in event.cleared})
        for event in clearings:
            session.emit(replace(event, step=session.step))


def signature(event: Event) -> tuple[Any, ...]:
    """What makes two events of two rounds the same, whatever numbers they carry."""
    if isinstance(event, Forward):
        return (Forward, event.model, event.grad, event.training, event.tracked)
    if isinstance(event, LossCall):
        return (LossCall, event.at, event.fn, event.grad)
    if isinstance(event, Backward):
        return (Backward, event.at, event.optimizers, event.grad_before, bool(event.error))
    if isinstance(event, ZeroGrad):
        return (ZeroGrad, event.at, event.optimizer, event.cleared, event.wasted)
    if isinstance(event, LossTested):
        return (LossTested, event.at, math.isfinite(event.value))
    if isinstance(event, Clip):
        return (Clip, event.at, event.kind, event.after_step)
    if isinstance(event, OptimizerStep):
        odd = event.emptied or event.reused or event.scaled or event.refused
        return (
            OptimizerStep,
            event.at,
            event.optimizer,
            event.backwards,
            event.pending,
            event.cleared,
            odd,
            event.touched,
        )
    return (type(event), event.at)
