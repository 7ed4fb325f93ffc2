"""PM202 scheduler-stepped-per-epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.epochs import Epochs
from premortem.detectors.shared.schedules import Schedule
from premortem.events import (
    Backward,
    Event,
    OptimizerBuilt,
    OptimizerStep,
    RunEnded,
    SchedulerBuilt,
    SchedulerStep,
)
from premortem.findings import Finding, Severity


@dataclass
class Counted(Schedule):
    """... and how many steps were made meanwhile."""

    base: float = 0.0  # the rate the optimizer was built with
    backwards_before: int = 0
    steps: int = 0  # steps of its optimizer since it was built
    gap: int = 0  # steps between the last two calls
    rise: float = 0.0  # of the first call
    straight: bool = True  # every call raised the rate by as much

    def step(self, event: SchedulerStep) -> None:
        rise = event.after - event.before
        if not self.calls:
            self.rise = rise
        self.straight = self.straight and rise > 0 and abs(rise - self.rise) <= 0.02 * self.rise
        self.gap = event.since_step
        super().step(event)


class SchedulerSteppedPerEpoch(Detector):
    """A learning-rate schedule made for all batches is stepped only once per epoch, or per accumulated update.

    ## Why it matters
    Only a small part of the schedule is ever used: a one-cycle policy never leaves its warm-up, a cosine never
    comes down, a warm-up from zero stays close to zero.

    ## Usual causes
    `total_steps=epochs * len(loader)` with `scheduler.step()` outside the batch loop; or gradient accumulation,
    where the schedule was made for batches and moves on with updates.

    ## What to do
    Call `scheduler.step()` after each `optimizer.step()`, or make the schedule as long as the number of calls.

    ## When it stays silent
    A run that was cut short, and schedules whose length has nothing to do with the number of steps made.
    """

    card = Card(
        code="PM202",
        name="scheduler-stepped-per-epoch",
        family="scheduler",
        severity=Severity.ERROR,
        explains=("learning-rate-zero", "updates-too-small", "metric-frozen"),
    )
    uses = (Epochs,)
    listens = (OptimizerBuilt, OptimizerStep, Backward, SchedulerBuilt, SchedulerStep, RunEnded)

    def __init__(self) -> None:
        self._rates: dict[int, float] = {}
        self._schedules: dict[int, Counted] = {}
        self._backwards = 0

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, OptimizerStep):
            for schedule in self._schedules.values():
                if schedule.optimizer == event.optimizer:
                    schedule.steps += 1 + event.rested
            self._backwards += event.rested
        elif isinstance(event, Backward):
            self._backwards += 1
        elif isinstance(event, OptimizerBuilt):
            self._rates[event.optimizer] = max((group.lr for group in event.groups), default=0.0)
        elif isinstance(event, SchedulerBuilt):
            base = self._rates.get(event.optimizer, 0.0)
            self._schedules[event.scheduler] = Counted(
                event.kind, event.optimizer, event.horizon, base=base, backwards_before=self._backwards
            )
        elif isinstance(event, SchedulerStep):
            yield from self._stepped(event)
        elif isinstance(event, RunEnded) and event.reason == "finished":
            yield from self._ended(event)

    def _stepped(self, event: SchedulerStep) -> Iterator[Finding]:
        schedule = self._schedules.get(event.scheduler)
        if schedule is None:
            return
        schedule.step(event)
        # The script itself may have said how many epochs it wants to make.
        planned = (self.fact(Epochs).planned or 0) * schedule.gap
        if schedule.calls == 3 and schedule.gap >= 3 and self._matches(schedule, planned):
            yield self._found(event, event.scheduler, schedule, planned, "steps are planned")

    def _ended(self, event: RunEnded) -> Iterator[Finding]:
        for key, schedule in self._schedules.items():
            micro = self._backwards - schedule.backwards_before
            if schedule.calls < 2 or self.said(key):
                continue
            if schedule.steps >= 3 * schedule.calls and self._matches(schedule, schedule.steps):
                yield self._found(event, key, schedule, schedule.steps, "steps were made")
            elif micro >= 2 * schedule.steps and self._matches(schedule, micro):
                yield self._found(event, key, schedule, micro, "batches were accumulated")
            elif self._still_warming_up(schedule):
                yield self._cold(event, key, schedule)

    def _matches(self, schedule: Counted, made: int) -> bool:
        """The schedule's length is this number, and nothing near the number of calls."""
        horizon = schedule.horizon
        if horizon is None or horizon < 20 or schedule.kind == "MultiStepLR" or schedule.explicit:
            return False
        return abs(horizon - made) <= max(1.0, 0.01 * horizon) and schedule.calls <= 0.5 * horizon

    def _still_warming_up(self, schedule: Counted) -> bool:
        return (
            schedule.calls >= 5
            and schedule.steps >= 5 * schedule.calls
            and schedule.straight
            and not schedule.explicit
            and schedule.rate <= 0.2 * schedule.base
        )

    def _found(self, event: Event, key: int, schedule: Counted, made: int, what: str) -> Finding:
        self.once(key)
        share = schedule.calls / (schedule.horizon or 1)
        return self.finding(
            event,
            f"{schedule.kind} is made for {schedule.horizon} calls, and {made} {what}, but it was called "
            f"{schedule.calls} times: {share:.0%} of the schedule",
            cause="The schedule counts batches, but it moves on far less often.",
            remedy="Call scheduler.step() as often as the schedule was made for, right after each "
            "optimizer.step(), or divide its length.",
            at=schedule.at,
            calls=schedule.calls,
            horizon=schedule.horizon,
            steps=schedule.steps,
            rate=schedule.rate,
        )

    def _cold(self, event: Event, key: int, schedule: Counted) -> Finding:
        self.once(key)
        return self.finding(
            event,
            f"the warm-up never ended: after {schedule.steps} steps and {schedule.calls} calls of "
            f"{schedule.kind} the rate is {schedule.rate:.3g} of {schedule.base:.3g}",
            cause="The warm-up counts batches, but it moves on once per epoch.",
            remedy="Call scheduler.step() after each optimizer.step(), or count the warm-up in epochs.",
            at=schedule.at,
            severity=Severity.WARNING,
            calls=schedule.calls,
            steps=schedule.steps,
            rate=schedule.rate,
            base=schedule.base,
        )
