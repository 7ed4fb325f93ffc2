from dataclasses import dataclass, field

from premortem.detectors.base import Card, Detector, Finding, Findings, Severity
from premortem.events import Event, OptimizerBuilt, OptimizerStep, SchedulerBuilt, SchedulerStep, Site

ROUNDS = 4  # steps, each with both calls: a warm-up beside a schedule ends, or takes turns


@dataclass
class Calls:
    """Who moves the schedule of one optimizer."""

    last: tuple[int, Site | None] = (0, None)  # scheduler and line of the latest call
    doubled: dict[tuple[Site | None, Site | None], int] = field(default_factory=dict)


class SchedulerSteppedTwice(Detector):
    """The learning rate is moved on twice between two optimizer steps, from two places.

    ## Why it matters
    The schedule runs twice as fast as it was made for, or two copies of it multiply: the rate falls long before the
    training is over.

    ## Usual causes
    `scheduler.step()` in the training function and again in the loop that calls it; or, with two networks, both
    schedulers built on the same optimizer, so that the other one is never scheduled.

    ## What to do
    Call `step()` in one place, and build each scheduler on its own optimizer.

    ## When it stays silent
    Schedules of different kinds that are combined on purpose, positions that are given explicitly, and schedulers
    that are wound forward before training.
    """

    card = Card("PM209", "scheduler-stepped-twice", "scheduler", Severity.ERROR).explaining(
        "scheduler-past-horizon", "scheduler-stepped-per-batch", "updates-too-small"
    )
    listens = (OptimizerBuilt, OptimizerStep, SchedulerBuilt, SchedulerStep)

    def __init__(self) -> None:
        self._built: dict[int, SchedulerBuilt] = {}
        self._scheduled: set[int] = set()
        self._steps: dict[int, int] = {}
        self._calls: dict[int, Calls] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerStep):
            self._steps[event.optimizer] = self._steps.get(event.optimizer, 0) + 1
            if event.optimizer in self._calls:
                self._calls[event.optimizer].last = (0, None)
        elif isinstance(event, SchedulerBuilt):
            self._built[event.scheduler] = event
            self._scheduled.add(event.optimizer)
        elif isinstance(event, SchedulerStep) and not event.explicit and event.metric is None:
            yield from self._stepped(event)

    def _stepped(self, event: SchedulerStep) -> Findings:
        calls = self._calls.setdefault(event.optimizer, Calls())
        (other, site), calls.last = calls.last, (event.scheduler, event.at)
        if not other or not event.optimizer_steps or self.said(event.optimizer):
            return
        doubled = site != event.at if other == event.scheduler else self._copied(other, event.scheduler)
        if not doubled:
            return
        pair = (site, event.at)
        calls.doubled[pair] = calls.doubled.get(pair, 0) + 1
        if calls.doubled[pair] == ROUNDS:
            self.once(event.optimizer)
            yield self._found(event, site, copied=other != event.scheduler)

    def _copied(self, one: int, two: int) -> bool:
        """Two schedulers of the same making on one optimizer, while another one trains without any."""
        a, b = self._built.get(one), self._built.get(two)
        alike = a is not None and b is not None and (a.kind, a.horizon) == (b.kind, b.horizon)
        left_out = any(key not in self._scheduled and steps for key, steps in self._steps.items())
        return alike and left_out

    def _found(self, event: SchedulerStep, site: Site | None, *, copied: bool) -> Finding:
        if copied:
            message = f"two {event.kind} schedulers drive the same optimizer, and another optimizer has none"
            cause = "One of them was built on the wrong optimizer."
            remedy = "Build each scheduler on the optimizer it is meant for."
        else:
            message = f"{event.kind} is stepped twice between two optimizer steps, at {site} and {event.at}"
            cause = "The schedule runs faster than the training it was made for."
            remedy = "Keep one of the two calls."
        return self.finding(
            event, message, cause=cause, remedy=remedy, calls=event.count, steps=event.optimizer_steps
        )
