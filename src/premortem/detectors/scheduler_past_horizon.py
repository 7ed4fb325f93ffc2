"""PM204 scheduler-past-horizon."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.schedules import Schedule
from premortem.events import Event, OptimizerStep, RunEnded, SchedulerBuilt, SchedulerStep, Site
from premortem.findings import Finding, Severity


@dataclass
class Rate:
    """The learning rate of one optimizer, as its steps used it."""

    steps: int = 0
    peak: float = 0.0
    zero_since: int | None = None  # step from which on the rate has been exactly 0 in all groups


class SchedulerPastHorizon(Detector):
    """Training goes on after the end of the learning-rate schedule.

    ## Why it matters
    What comes after the end is rarely meant: a cosine climbs back to the full rate and undoes the fine work, a
    linear decay stays at 0 so that nothing is learned any more, a hand-written one becomes negative and climbs
    the loss, and OneCycleLR raises.

    ## Usual causes
    More epochs than the schedule was made for (`T_max`, `total_iters`, `total_steps`), or more calls of
    `scheduler.step()` than epochs.

    ## What to do
    Make the schedule as long as the number of calls, or stop training at its end.

    ## When it stays silent
    A cosine that is used as a cycle and ends low, and a last call or two beyond the end.
    """

    card = Card(
        code="PM204",
        name="scheduler-past-horizon",
        family="scheduler",
        severity=Severity.ERROR,
        explains=("learning-rate-zero", "updates-too-small", "metric-frozen"),
    )
    listens = (OptimizerStep, SchedulerBuilt, SchedulerStep, RunEnded)

    def __init__(self) -> None:
        self._rates: dict[int, Rate] = {}
        self._cosines: dict[int, Schedule] = {}  # they climb again after their end
        self._scheduled: dict[int, tuple[str, Site | None]] = {}  # optimizer -> kind and last call

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, SchedulerBuilt):
            self._scheduled[event.optimizer] = (event.kind, event.at)
        elif isinstance(event, SchedulerStep):
            self._scheduled[event.optimizer] = (event.kind, event.at)
            self._follow(event)
        elif isinstance(event, OptimizerStep):
            yield from self._trained(event)
        elif isinstance(event, RunEnded):
            yield from self._ended(event)

    def _follow(self, event: SchedulerStep) -> None:
        if event.kind != "CosineAnnealingLR" or event.horizon is None or event.explicit:
            return
        known = self._cosines.setdefault(
            event.scheduler, Schedule(event.kind, event.optimizer, event.horizon)
        )
        known.step(event)

    def _trained(self, event: OptimizerStep) -> Iterator[Finding]:
        rates = [rate for rate in event.lrs if not math.isnan(rate)]  # it is on the device
        if not rates:
            return
        known = self._rates.setdefault(event.optimizer, Rate())
        known.steps += 1
        known.peak = max(known.peak, *rates)
        if any(rates):
            known.zero_since = None
        elif known.zero_since is None and known.peak > 0:
            known.zero_since = known.steps
        if min(rates) < 0 and self.once(event.optimizer):
            kind, at = self._scheduled.get(event.optimizer, ("the script", event.at))
            yield self.finding(
                event,
                f"the learning rate is negative ({min(rates):.3g}), set by {kind}",
                cause="A negative rate climbs the loss instead of descending: the schedule has run past its end.",
                remedy="Make the schedule as long as the training, or keep its factor from falling below 0.",
                at=at,
                rate=min(rates),
                peak=known.peak,
            )

    def _ended(self, event: RunEnded) -> Iterator[Finding]:
        if event.error == "ValueError" and "The specified number of total steps is" in event.message:
            yield self.finding(
                event,
                f"OneCycleLR raised: {event.message}",
                cause="scheduler.step() was called more often than the schedule was made for.",
                remedy="Give total_steps (or epochs and steps_per_epoch) the number of calls that will be made; "
                "when it counts epochs, call it once per epoch.",
            )
            return
        yield from self._dead_end(event)
        yield from self._climbed(event)

    def _dead_end(self, event: RunEnded) -> Iterator[Finding]:
        for key, rate in self._rates.items():
            if rate.zero_since is None or self.said(key):
                continue
            idle = rate.steps - rate.zero_since + 1
            if idle >= 20 and idle > 0.25 * rate.steps:
                kind, at = self._scheduled.get(key, ("the script", None))
                yield self.finding(
                    event,
                    f"the last {idle} of {rate.steps} steps were made with learning rate 0, set by {kind}",
                    cause="The schedule ended before the training did; since then nothing can be learned.",
                    remedy="Make the schedule as long as the training, or stop at its end.",
                    at=at,
                    steps=rate.steps,
                    idle=idle,
                    peak=rate.peak,
                )

    def _climbed(self, event: RunEnded) -> Iterator[Finding]:
        if event.reason != "finished":
            return
        for cosine in self._cosines.values():
            horizon = cosine.horizon or 0
            beyond = cosine.position - horizon
            # One way up after one way down; whoever wants cycles makes several and ends low.
            once = max(2.0, 0.1 * horizon) <= beyond < 3 * horizon
            if once and cosine.calls > horizon and cosine.rate >= 0.25 * cosine.peak:
                yield self.finding(
                    event,
                    f"CosineAnnealingLR was stepped {cosine.position} times with T_max={horizon}: the "
                    f"rate climbed again, to {cosine.rate:.3g} at the end",
                    cause="Past T_max the cosine goes back up, so training ends at a high rate.",
                    remedy=f"Make T_max the number of scheduler steps, {cosine.position}.",
                    at=cosine.at,
                    severity=Severity.WARNING,
                    position=cosine.position,
                    horizon=horizon,
                    rate=cosine.rate,
                    peak=cosine.peak,
                )
