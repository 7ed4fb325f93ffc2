from dataclasses import dataclass

from premortem.detectors.base import Card, Detector, Finding, Findings, Severity
from premortem.events import Event, OptimizerBuilt, OptimizerStep, SchedulerBuilt, SchedulerStep


@dataclass
class Owner:
    """What is known of an optimizer."""

    parameters: frozenset[int]
    steps: int = 0
    rates: tuple[float, ...] = ()
    constant: bool = True


class SchedulerDrivesOtherOptimizer(Detector):
    """A scheduler is stepped whose optimizer does not train any more: another one took over its parameters.

    ## Why it matters
    The schedule moves a learning rate that nobody uses. The optimizer that really trains keeps the rate it was
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
    listens = (OptimizerBuilt, OptimizerStep, SchedulerBuilt, SchedulerStep)

    def __init__(self) -> None:
        self._optimizers: dict[int, Owner] = {}
        self._scheduled: set[int] = set()  # optimizers with a scheduler of their own
        self._idle: dict[
            int, tuple[int, dict[int, int]]
        ] = {}  # scheduler -> idle calls, steps of others before

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerBuilt):
            held = frozenset(key for group in event.groups for key in group.parameters)
            known = self._optimizers.setdefault(event.optimizer, Owner(held))
            known.parameters = held
        elif isinstance(event, OptimizerStep):
            owner = self._optimizers.get(event.optimizer)
            if owner is not None:
                owner.steps += 1
                owner.constant = owner.constant and (not owner.rates or owner.rates == event.lrs)
                owner.rates = event.lrs
        elif isinstance(event, SchedulerBuilt):
            self._scheduled.add(event.optimizer)
        elif isinstance(event, SchedulerStep):
            yield from self._stepped(event)

    def _stepped(self, event: SchedulerStep) -> Findings:
        key = event.scheduler
        if event.since_step or self.said(key):
            self._idle.pop(key, None)
            return
        calls, before = self._idle.get(key, (0, {n: owner.steps for n, owner in self._optimizers.items()}))
        self._idle[key] = (calls + 1, before)
        mine = self._optimizers.get(event.optimizer)
        if calls + 1 < 4 or mine is None or not mine.parameters:
            return
        for number, owner in self._optimizers.items():
            made = owner.steps - before.get(number, 0)
            shared = len(owner.parameters & mine.parameters)
            if (
                number != event.optimizer
                and number not in self._scheduled
                and owner.constant
                and made > calls
                and 2 * shared >= len(owner.parameters)
            ):
                self.once(key)
                yield self._found(event, calls + 1, made, owner)
                return

    def _found(self, event: SchedulerStep, calls: int, made: int, owner: Owner) -> Finding:
        return self.finding(
            event,
            f"{event.kind} was stepped {calls} times while its optimizer stood still; another optimizer made "
            f"{made} steps on the same parameters, at the constant rate {max(owner.rates, default=0.0):.3g}",
            cause="The scheduler holds an optimizer that was replaced.",
            remedy="Build the scheduler again, on the optimizer that trains now.",
            calls=calls,
            steps=made,
        )
