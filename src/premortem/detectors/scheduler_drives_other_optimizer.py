from collections import Counter

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.optimizers import Optimizers
from premortem.events import Event, OptimizerStep, SchedulerBuilt, SchedulerStep


class SchedulerDrivesOtherOptimizer(Detector):
    """A scheduler is stepped, but its optimizer no longer trains: another one took over its parameters.

    ## Why it matters
    The schedule moves a learning rate that no step uses. The optimizer that trains keeps the rate it was
    built with.

    ## Usual causes
    The optimizer was built again (after unfreezing, loading, or moving the model) and the scheduler still holds
    the old one.

    ## What to do
    Build the scheduler after the optimizer, and again whenever the optimizer is built again.

    ## When it stays silent
    When the other optimizer has other parameters, or a rate that changes.
    """

    card = Card("PM208", "scheduler-drives-other-optimizer", "scheduler", Severity.ERROR).explaining(
        "scheduler-never-stepped", "scheduler-before-optimizer", "scheduler-past-horizon"
    )
    uses = (Optimizers,)
    listens = (OptimizerStep, SchedulerBuilt, SchedulerStep)

    def __init__(self) -> None:
        self._rates: dict[int, tuple[float, ...]] = {}  # optimizer -> its rates, empty once they have changed
        self._scheduled: set[int] = set()  # optimizers with a scheduler of their own
        self._idle: dict[
            int, tuple[int, Counter[int]]
        ] = {}  # scheduler -> idle calls, steps of others before

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerStep):
            constant = self._rates.setdefault(event.optimizer, event.lrs) == event.lrs
            self._rates[event.optimizer] = event.lrs if constant else ()
        elif isinstance(event, SchedulerBuilt):
            self._scheduled.add(event.optimizer)
        elif isinstance(event, SchedulerStep):
            yield from self._stepped(event)

    def _stepped(self, event: SchedulerStep) -> Findings:
        key, optimizers = event.scheduler, self.fact(Optimizers)
        if event.since_step or self.said(key):
            self._idle.pop(key, None)
            return
        calls, before = self._idle.get(key, (0, Counter(optimizers.steps)))
        self._idle[key] = (calls + 1, before)
        mine = optimizers.held(event.optimizer)
        if calls + 1 < 4 or not mine:
            return
        for other, rates in self._rates.items():
            held, made = optimizers.held(other), optimizers.steps[other] - before[other]
            if other == event.optimizer or other in self._scheduled or not rates or made <= calls:
                continue
            if held and 2 * len(held & mine) >= len(held):
                self.once(key)
                yield self.finding(
                    event,
                    f"{event.kind} was stepped {calls + 1} times while its optimizer stood still; another optimizer made "
                    f"{made} steps on the same parameters, at the constant rate {max(rates):.3g}",
                    cause="The scheduler holds an optimizer that was replaced.",
                    remedy="Build the scheduler again, on the optimizer that trains now.",
                    calls=calls + 1,
                    steps=made,
                )
                return
