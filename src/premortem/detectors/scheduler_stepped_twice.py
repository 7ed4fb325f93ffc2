from premortem.detectors.base import Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.optimizers import Optimizers
from premortem.events import Event, OptimizerStep, SchedulerBuilt, SchedulerStep, Site

ROUNDS = 4  # steps, each with both calls: a warm-up beside a schedule ends, or takes turns


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
        "scheduler-past-horizon",
        "schedule-ends-before-the-run",
        "scheduler-stepped-per-batch",
        "updates-too-small",
    )
    uses = (Optimizers,)
    listens = (OptimizerStep, SchedulerBuilt, SchedulerStep)

    def __init__(self) -> None:
        self._built: dict[int, SchedulerBuilt] = {}
        self._last: dict[int, tuple[int, Site | None]] = {}  # optimizer -> latest call: scheduler and line

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerStep):
            self._last.pop(event.optimizer, None)
        elif isinstance(event, SchedulerBuilt):
            self._built[event.scheduler] = event
        elif isinstance(event, SchedulerStep) and not event.explicit and event.metric is None:
            yield from self._stepped(event)

    def _stepped(self, event: SchedulerStep) -> Findings:
        other, site = self._last.get(event.optimizer, (0, None))
        self._last[event.optimizer] = (event.scheduler, event.at)
        if not other or not event.optimizer_steps:
            return
        copied = other != event.scheduler
        doubled = self._copied(other, event.scheduler) if copied else site != event.at
        if doubled and self.times((event.optimizer, site, event.at)) == ROUNDS and self.once(event.optimizer):
            yield self._found(event, site, copied=copied)

    def _copied(self, one: int, two: int) -> bool:
        """Two schedulers of the same making on one optimizer, while another one trains without any."""
        a, b = self._built.get(one), self._built.get(two)
        alike = a is not None and b is not None and (a.kind, a.horizon) == (b.kind, b.horizon)
        scheduled = {built.optimizer for built in self._built.values()}
        return alike and any(key not in scheduled for key in self.fact(Optimizers).steps)

    def _found(self, event: SchedulerStep, site: Site | None, *, copied: bool) -> Finding:
        if copied:
            message = f"two {event.kind} schedulers drive the same optimizer, and another optimizer has none"
            cause = "One of them was built on the wrong optimizer."
            remedy = "Build each scheduler on its own optimizer."
        else:
            message = f"{event.kind} is stepped twice between two optimizer steps, at {site} and {event.at}"
            cause = "The schedule runs faster than the training it was made for."
            remedy = "Keep one of the two calls."
        return self.finding(
            event, message, cause=cause, remedy=remedy, calls=event.count, steps=event.optimizer_steps
        )
