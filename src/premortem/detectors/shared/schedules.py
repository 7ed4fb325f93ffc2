"""What every learning-rate schedule of the run has done so far: its calls, the rates it gave, the steps made meanwhile."""

from dataclasses import dataclass, field

from premortem.detectors.shared.facts import Fact
from premortem.events import (
    Backward,
    Event,
    OptimizerBuilt,
    OptimizerStep,
    RunEnded,
    SchedulerBuilt,
    SchedulerStep,
    Site,
)

OWN = "the script's own schedule"
SCRIPT = "the script"
FALLING = frozenset({"StepLR", "MultiStepLR", "ExponentialLR", "PolynomialLR"})  # they never raise a rate
LOW = 0.999e-3  # of the peak; a floor of exactly a thousandth is usually chosen on purpose


@dataclass
class Schedule:
    """One scheduler, or the rates that a script without one sets itself."""

    kind: str
    optimizer: int
    horizon: int | None = None
    options: dict[str, float] = field(default_factory=dict)
    built: int | None = None  # at which step; None when that was not seen
    built_at: Site | None = None
    base: float = 0.0  # the rate the optimizer was built with
    backwards_before: int = 0  # it was built
    stepped: bool = False  # it was called, or belongs to another one
    trained: int = 0  # steps of its optimizer since it was built
    rested: int = 0  # ... of which the last ones are in no event
    unheard: int = 0  # calls between those: the loop called as it had done before
    rates: tuple[float, ...] = ()  # at the last of them
    moved: bool = False  # the rate changed between two of them
    rewritten: int = 0  # steps before which the script set the rate itself

    at: Site | None = None  # the last call
    calls: int = 0
    position: int = 0
    explicit: bool = False  # the script gave it the epoch
    first_step: int = 0  # of the run, at the first call
    last_step: int = 0
    steps_before: int = 0  # steps of its optimizer before the first call
    steps: int = 0  # ... before the last call
    gap: int = 0  # ... between the last two calls
    rise: float = 0.0  # of the first call
    straight: bool = True  # every call raised the rate by as much
    rate: float = 0.0
    peak: float = 0.0
    peak_at: int = 0  # in calls
    least: float = 0.0  # after the peak
    changes: int = 0  # calls that changed the rate
    low_at: int | None = None  # the call since which the rate has been below a thousandth of the peak
    changes_then: int = 0  # calls that had changed the rate by then

    def step(self, event: SchedulerStep) -> None:
        rise = event.after - event.before
        self.rise = self.rise if self.calls else rise
        self.straight = self.straight and rise > 0 and abs(rise - self.rise) <= 0.02 * self.rise
        self.horizon, self.position, self.gap = event.horizon, event.position, event.since_step
        self.explicit = self.explicit or event.explicit
        self.stepped = True
        # Calls that were not reported count as well.
        self.advance(event, event.before, event.after, event.optimizer_steps, event.count)

    def advance(self, event: Event, before: float, after: float, steps: int, calls: int = 0) -> None:
        if not self.calls:
            self.first_step, self.steps_before = event.step, steps
            self.peak = self.least = before
        self.calls = max(self.calls + 1, calls)
        self.changes += after != before
        self.at, self.last_step, self.steps, self.rate = event.at, event.step, steps, after
        if max(before, after) > self.peak:
            self.peak, self.peak_at, self.least = max(before, after), self.calls, after
        self.least = min(self.least, after)
        if after >= LOW * self.peak:
            self.low_at = None
        elif self.low_at is None:
            self.low_at, self.changes_then = self.calls, self.changes

    @property
    def final(self) -> bool:
        """Whether the rate cannot rise any more, whatever comes."""
        past = self.horizon is not None and self.position >= self.horizon
        return not self.explicit and (self.kind in FALLING or (self.kind == "LinearLR" and past))

    @property
    def fall(self) -> int:
        """Calls from the peak down to a thousandth of it."""
        return (self.low_at or 0) - self.peak_at


class Schedules(Fact):
    LISTENS = (OptimizerBuilt, OptimizerStep, Backward, SchedulerBuilt, SchedulerStep, RunEnded)

    def __init__(self) -> None:
        self.of: dict[int, Schedule] = {}  # by scheduler
        self.own: dict[int, Schedule] = {}  # by optimizer, of those that never had a scheduler
        self.backwards = 0
        self._bases: dict[int, float] = {}
        self._scheduled: dict[int, tuple[str, Site | None]] = {}
        self._stepped: dict[int, int] = {}  # by optimizer: the last step of the run that was its own

    def observe(self, event: Event) -> None:
        if isinstance(event, OptimizerStep):
            self.backwards += event.rested
            self._trained(event)
        elif isinstance(event, RunEnded):
            self._ended(event)
        elif isinstance(event, Backward):
            self.backwards += 1
        elif isinstance(event, OptimizerBuilt):
            self._bases[event.optimizer] = max((group.lr for group in event.groups), default=0.0)
        elif isinstance(event, SchedulerBuilt):
            self._scheduled[event.optimizer] = (event.kind, event.at)
            self.own.pop(event.optimizer, None)
            self._belong(event.parts)
            self.of[event.scheduler] = Schedule(
                event.kind,
                event.optimizer,
                event.horizon,
                event.options,
                built=event.step,
                built_at=event.at,
                base=self._bases.get(event.optimizer, 0.0),
                backwards_before=self.backwards,
            )
        elif isinstance(event, SchedulerStep):
            self._scheduled[event.optimizer] = (event.kind, event.at)
            self._belong(event.parts)
            self.of.setdefault(event.scheduler, Schedule(event.kind, event.optimizer)).step(event)

    def _ended(self, event: RunEnded) -> None:
        """The last steps of a run that rests are in no event. Of a single optimizer it is known how many there were, and a run
        rests only for as long as its schedulers are called as before."""
        if len(self._stepped) == 1:
            ((optimizer, last),) = self._stepped.items()
            for schedule in self.of.values():
                if schedule.optimizer == optimizer:
                    schedule.rested = max(0, event.step - last)
                    schedule.trained += schedule.rested
                    schedule.unheard = schedule.rested // schedule.gap if schedule.gap else 0
                    schedule.calls += schedule.unheard

    def _trained(self, event: OptimizerStep) -> None:
        self._stepped[event.optimizer] = event.step
        for schedule in self.of.values():
            if schedule.optimizer == event.optimizer:
                # A schedule does not advance in a step that was refused: it could not be called.
                schedule.trained += (not event.refused) + event.rested
                schedule.moved = schedule.moved or (bool(schedule.rates) and event.lrs != schedule.rates)
                schedule.rates = event.lrs
        # Without a scheduler the script may move the rate itself: then every step is a call.
        if event.optimizer not in self._scheduled and event.lrs:
            base = self._bases.get(event.optimizer, 0.0)
            own = self.own.setdefault(event.optimizer, Schedule(OWN, event.optimizer, base=base))
            own.rewritten += event.rewritten
            rate = max(event.lrs)
            own.advance(event, own.rate if own.calls else rate, rate, own.calls)

    def _belong(self, parts: tuple[int, ...]) -> None:
        for part in parts:
            if part in self.of:
                self.of[part].stepped = True

    def final(self, optimizer: int) -> bool:
        """Whether one scheduler alone sets the rate of this optimizer, and will not raise it again."""
        mine = [schedule for schedule in self.of.values() if schedule.optimizer == optimizer]
        return len(mine) == 1 and mine[0].final

    def who_sets(self, optimizer: int, otherwise: Site | None = None) -> tuple[str, Site | None]:
        """What sets the rate of this optimizer, and where it was last called."""
        return self._scheduled.get(optimizer, (SCRIPT, otherwise))
