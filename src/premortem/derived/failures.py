"""Failures: when a training is not finite any more and stays so, and how that began.

Derived once for all detectors, as `derived/windows.py` derives gradient windows; pure, so it can be tested without torch.
"""

import itertools
import math
from collections import deque
from dataclasses import dataclass, replace
from statistics import median

from premortem.events import (
    Backward,
    Event,
    NonFinite,
    OptimizerBuilt,
    OptimizerStep,
    RunEnded,
    StateLoaded,
    StepStats,
)

_ODD_STEPS = 30
_ODD_STEPS_SEEN = 8  # when the operation that broke the loss was seen at work
_STEPS = 3  # in a row: fewer may be a range test that is about to restore its weights
_EARLY = 10
_LATE = 12


@dataclass(slots=True, kw_only=True)
class TrainingFailed(Event):
    """The loss is not finite any more, and the run did not recover. Sent once, and a second time when the microscope
    has seen the operation that is to blame."""

    origin: NonFinite | None  # the first broken link, where it could be looked at
    first: StepStats | None  # the first bad step
    grew: bool  # the loss rose by orders of magnitude over several steps before
    start: float | None  # its level at first
    last: float | None  # the last finite one
    spared: bool = (
        False  # the weights are finite: such steps were refused, or only the value of the loss is broken
    )
    graded: bool = True  # its gradients are not finite either
    returned: bool = False  # the same operation had broken steps before, and the run got over them

    @property
    def began(self) -> int:
        """The number of the step in which it happened."""
        if self.origin is not None:
            return self.origin.step + 1  # it carries how many were finished by then
        return self.first.step if self.first is not None else self.step

    @property
    def overflowed(self) -> bool:
        return self.origin is not None and self.origin.overflow

    @property
    def too_large(self) -> bool:
        """The numbers grew until they did not fit, at once or step by step."""
        return self.grew or self.overflowed


class Life:
    """What one optimizer went through."""

    def __init__(self, built: OptimizerBuilt | None = None) -> None:
        self.lr = built.groups[0].lr if built is not None and built.groups else 0.0
        self.steps = 0
        self.rates: deque[float] = deque(maxlen=64)
        self.early: list[float] = []
        self.late: deque[float] = deque(maxlen=_LATE)
        self.bad = 0
        self.odd = 0  # steps with a broken loss and sound gradients
        self.worst = False  # the last step's gradients were broken
        self.refused = False  # the last step was not made
        self.first: StepStats | None = None


class Failures:
    """Events in; a failure out when it is certain that the run did not recover from it."""

    def __init__(self) -> None:
        self._lives: dict[int, Life] = {}
        self._origin: NonFinite | None = None
        self._seen: NonFinite | None = (
            None  # what the microscope saw at work last, though the run got over it
        )
        # of each operation that was seen to break a step: where that began, and the loss before
        self._met: dict[tuple[str, str, int], tuple[NonFinite, float | None]] = {}
        self._values: list[float] = []  # of backward, when no optimizer steps
        self._hands = False  # the weights are moved by the script itself
        self._by_hand = 0
        self._told: TrainingFailed | None = None

    def observe(self, event: Event) -> list[TrainingFailed]:
        if self._told is not None:
            return self._certified(event)
        failure = self._watch(event)
        if failure is None:
            return []
        failure.step, failure.at = event.step, event.at
        self._told = failure
        return [failure]

    def _certified(self, event: Event) -> list[TrainingFailed]:
        if self._told is None or not isinstance(event, NonFinite) or not better(event, self._told.origin):
            return []
        origin = since(event, self._told.origin)
        self._told = replace(self._told, step=event.step, at=event.at, origin=origin)
        return [self._told]

    def _watch(self, event: Event) -> TrainingFailed | None:
        if isinstance(event, StepStats):
            return self._stepped(event)
        if isinstance(event, NonFinite):
            if self._origin is None or better(event, self._origin):
                self._origin = since(event, self._origin)
            if better(event, None):
                self._seen = event
            if (same := _operation(event)) is not None:
                self._met.setdefault(same, (event, self._last_loss()))
        elif isinstance(event, OptimizerBuilt):
            if not event.again:
                self._lives[event.optimizer] = Life(event)
                self._origin = self._seen = None
                self._met.clear()
        elif isinstance(event, StateLoaded):
            if event.target == "module":  # the weights were put back: what happened before was dealt with
                for life in self._lives.values():
                    life.bad, life.first = 0, None
                self._origin, self._seen, self._by_hand = None, None, 0
                self._met.clear()
        elif isinstance(event, OptimizerStep):
            self._hands = self._hands or event.optimizer == 0
            if event.optimizer in self._lives:
                self._lives[event.optimizer].refused = event.refused
        elif isinstance(event, Backward):
            return self._went_back(event)
        elif isinstance(event, RunEnded):
            return self._ended(event)
        return None

    def _stepped(self, event: StepStats) -> TrainingFailed | None:
        life = self._lives.get(event.optimizer)
        if life is None:
            life = self._lives[event.optimizer] = Life()
        life.steps += 1
        life.rates.append(event.lr)
        if event.loss is None:
            return None
        life.worst = event.worst is not None
        if event.worst is None and event.weights_finite and not math.isfinite(event.loss):
            # The step was finite all the same: a loss of which only the value is broken, or gradients that were
            # repaired (another diagnosis). The weights live, so there is time to see whether it passes.
            life.odd += 1
            life.first = life.first or event
            seen = self._origin is not None and self._origin.watched
            enough = life.odd >= (_ODD_STEPS_SEEN if seen else _ODD_STEPS)
            return self._failure(life) if enough and not self._excused(event.optimizer, life) else None
        if math.isfinite(event.loss):
            life.bad, life.odd, life.first = 0, 0, None
            if event.worst is None:
                self._origin = None
            (life.early if len(life.early) < _EARLY else life.late).append(event.loss)
            return None
        life.bad += 1
        life.first = life.first or event
        if (life.bad >= _STEPS or not event.weights_finite) and not self._excused(event.optimizer, life):
            return self._failure(life)
        return None

    def _went_back(self, event: Backward) -> TrainingFailed | None:
        """A script that updates its weights by hand has no steps to count, only backward passes."""
        if not self._hands or event.value is None:
            return None
        if math.isfinite(event.value):
            self._by_hand, self._origin = 0, None
            self._values.append(event.value)
            del self._values[_EARLY:-_LATE]
            return None
        self._by_hand += 1
        if self._by_hand < _STEPS:
            return None
        life = Life()
        life.early, life.bad = self._values[:_EARLY], self._by_hand
        life.late.extend(self._values[_EARLY:])
        return self._failure(life)

    def _ended(self, event: RunEnded) -> TrainingFailed | None:
        for key, life in self._lives.items():
            # Some functions refuse NaN, so the run may end right after the step that broke the weights.
            if (life.bad or (life.worst and event.reason == "crashed")) and not self._excused(key, life):
                return self._failure(life)
        return None

    def _excused(self, optimizer: int, life: Life) -> bool:
        return climbing(list(life.rates)) or self._in_a_sweep(optimizer, life)

    def _in_a_sweep(self, optimizer: int, life: Life) -> bool:
        """Others were tried before with a lower rate, and went well: this one is there to find the limit."""
        return life.lr > 0 and any(
            key != optimizer and other.steps >= _EARLY and not other.bad and 0 < other.lr < life.lr / 2
            for key, other in self._lives.items()
        )

    def _last_loss(self) -> float | None:
        losses = (loss for life in self._lives.values() for loss in [*life.early, *life.late][-1:])
        return next(losses, None)

    def _failure(self, life: Life) -> TrainingFailed:
        finite = [*life.early, *life.late]
        origin, last = self._origin, finite[-1] if finite else None
        if self._seen is not None and again(self._seen, origin):
            origin = since(self._seen, origin)
        returned = False
        if origin is not None and (same := _operation(origin)) in self._met:
            first, before = self._met[same]
            if returned := first.step < origin.step:
                # Each time it may be other samples that break it: those of the first, or none.
                unnamed = replace(origin, step=first.step, value=first.value, rows=(), samples=0, source=None)
                origin, last = first if first.watched else unnamed, before
        return TrainingFailed(
            origin=origin,
            first=life.first,
            grew=rose(finite),
            # One that grew from its first step on has no level; it began where it began.
            start=min(life.early[0], median(life.early)) if life.early else None,
            last=last,
            returned=returned,
            spared=life.refused or not life.bad,
            graded=bool(life.bad) or life.worst,
        )


def _operation(origin: NonFinite) -> tuple[str, str, int] | None:
    """Which one it is, where that is known."""
    if not origin.located or not origin.op or origin.at is None:
        return None
    return origin.op, origin.at.file, origin.at.line


def better(new: NonFinite, old: NonFinite | None) -> bool:
    """The operation was seen at work, and before only the ruins of it. Broken weights explain nothing; nor does a number that the script
    has kept since an operation made it."""
    if old is not None and old.sure and old.stage == "forward" and new.what == "constant":
        return False
    return new.watched and new.stage != "weights" and (old is None or not old.watched)


def again(seen: NonFinite | None, now: NonFinite | None) -> bool:
    """It comes and goes. The operation was not looked at this time, but the microscope saw it the last time."""
    if seen is None or now is None or now.watched or now.detail:
        return False
    return seen.stage == ("forward" if now.stage == "loss" else now.stage)


def since(new: NonFinite, old: NonFinite | None) -> NonFinite:
    """The same failure, seen better later: it began when it was seen first."""
    return new if old is None else replace(new, step=old.step, value=old.value)


def climbing(rates: list[float]) -> bool:
    """A range test: the rate is multiplied at every step until something breaks."""
    if len(rates) < 8 or min(rates) <= 0:
        return False
    ratios = [b / a for a, b in itertools.pairwise(rates)]
    if min(ratios) <= 1.0:
        return False
    even = max(ratios) - min(ratios) < 0.01 * max(ratios)
    return (even and ratios[-1] > 1.01) or rates[-1] / rates[0] > 1000


def rose(values: list[float]) -> bool:
    """A thousandfold rise over the last steps, spread over at least three of them."""
    if len(values) < 4:
        return False
    level = max(abs(median(values[: max(1, len(values) // 2)])), 1e-12)
    recent = values[-_LATE:]
    rises = sum(1 for a, b in itertools.pairwise(recent) if abs(b) > 2 * abs(a))
    return abs(recent[-1]) > 1e3 * level and rises >= 3
