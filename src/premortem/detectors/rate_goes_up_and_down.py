import math
from dataclasses import dataclass

from premortem.cards import Card
from premortem.detectors.base import Detector, Findings
from premortem.events import Event, OptimizerStep, SchedulerBuilt, Site
from premortem.findings import Severity

LOW, HIGH = (
    0.02,
    0.9,
)  # of the highest rate so far: nothing is learned at the one, everything may change at the other
CYCLES = 3  # down and up: once may be a second phase, twice a second task
SLOWLY = 3  # steps on the way up, at least: a restart jumps
EVEN = 0.5  # the way up is at least half as long as the way down: a warm-up is short
ON_PURPOSE = (
    "cycl",
    "restart",
    "triang",
    "sgdr",
    "snapshot",
    "swa",
    "sawtooth",
)  # in names of schedules made so


@dataclass
class Rate:
    """The learning rate of one optimizer, as its steps used it."""

    steps: int = 0
    peak: float = 0.0
    low_at: int | None = None  # the step at which it was lowest since it was last high
    low: float = math.inf
    high_at: int = 0  # the last step at which it was high
    cycles: int = 0
    lengths: tuple[int, ...] = ()


class RateGoesUpAndDown(Detector):
    """The learning rate falls to nothing and climbs back to its full height, again and again.

    ## Why it matters
    A schedule is made to end low once, when the training ends. One that is too short swings through the whole run: what
    was learned at the bottom is thrown about at the next top, and where the run ends is an accident.

    ## Usual causes
    A cosine that is called once per batch and was made for the number of epochs (`T_max=epochs`, `num_training_steps=
    epochs`); a formula that is given the step where it counts epochs.

    ## What to do
    Make the schedule as long as the number of calls: epochs times batches per epoch.

    ## When it stays silent
    Schedules that are made to repeat (`CyclicLR`, `CosineAnnealingWarmRestarts`, names that say so), restarts that jump
    instead of climbing, warm-ups, and a new scheduler for every phase.
    """

    card = Card("PM217", "rate-goes-up-and-down", "scheduler", Severity.ERROR).explaining(
        "updates-too-small", "learning-rate-zero", "scheduler-past-horizon"
    )
    listens = (OptimizerStep, SchedulerBuilt)

    def __init__(self) -> None:
        self._rates: dict[int, Rate] = {}
        self._built: dict[int, tuple[str, Site | None]] = {}  # optimizer -> its schedule
        self._meant: set[int] = set()  # optimizers whose rate is to repeat

    def observe(self, event: Event) -> Findings:
        if isinstance(event, SchedulerBuilt):
            names = f"{event.kind} {event.at.function if event.at else ''}".lower()
            if any(word in names for word in ON_PURPOSE):
                self._meant.add(event.optimizer)
            self._rates.pop(event.optimizer, None)  # a new phase
            self._built[event.optimizer] = (event.kind, event.at)
        elif isinstance(event, OptimizerStep) and event.optimizer not in self._meant:
            rates = [rate for rate in event.lrs if math.isfinite(rate)]
            if rates:
                yield from self._used(event, max(rates))

    def _used(self, event: OptimizerStep, rate: float) -> Findings:
        known = self._rates.setdefault(event.optimizer, Rate())
        known.steps += 1 + event.rested
        known.peak = max(known.peak, rate)
        if rate >= HIGH * known.peak:
            if known.low_at is not None:
                self._climbed(known)
            known.high_at, known.low_at, known.low = known.steps, None, math.inf
        elif rate <= LOW * known.peak and rate < known.low:
            known.low_at, known.low = known.steps, rate
        if known.cycles >= CYCLES and self.once(event.optimizer):
            kind, at = self._built.get(event.optimizer, ("the script", event.at))
            length = known.lengths[-1]
            yield self.finding(
                event,
                f"the learning rate has fallen to nothing and climbed back to {known.peak:.3g} {known.cycles} times, "
                f"every {length} steps, set by {kind}",
                cause=f"The schedule is made for about {length // 2} calls, and is asked once per step: past its end it "
                "climbs again.",
                remedy="Make it as long as the number of its calls: epochs times batches per epoch.",
                at=at,
                cycles=known.cycles,
                length=length,
                peak=known.peak,
            )

    def _climbed(self, known: Rate) -> None:
        """It is high again, after it was low."""
        down, up = (known.low_at or 0) - known.high_at, known.steps - (known.low_at or 0)
        length = down + up
        alike = not known.lengths or abs(known.lengths[-1] - length) <= max(2, 0.1 * length)
        if up >= max(SLOWLY, EVEN * down) and alike:
            known.cycles += 1
            known.lengths = (*known.lengths[-1:], length)
        else:
            known.cycles, known.lengths = 0, ()
