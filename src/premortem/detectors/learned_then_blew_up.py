import math
from dataclasses import dataclass, field
from statistics import median

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.sudden_jump import Level
from premortem.events import Event, OptimizerStep, StepStats

FIRST = 8  # losses that say where training began
SPAN = 16  # losses whose middle is a level: it does not follow a single batch
STAYS = 32  # losses in a row that are this high: what comes back within them was a spike
FOLD = 50.0  # times the lowest level: no noise of a batch and no harder epoch does that
WORSE = 3.0  # times where training began: worse than knowing nothing
LEARNED = 0.5  # of where it began: the lowest level is at most this
WILD = 5.0  # highest to lowest: a term that was added to the loss lies calmly above it
STEADY = 1.05  # a rate that rises all the time is a range test, which is expected to end like this


@dataclass
class Course:
    """The losses of one optimizer."""

    began: list[float] = field(default_factory=list)
    span: list[float] = field(default_factory=list)
    lowest: float = math.inf
    high: list[float] = field(default_factory=list)  # since the jump
    jumped: int | None = None  # at which step
    rate: float = 0.0  # then
    losses: Level = field(default_factory=Level)
    norms: Level = field(default_factory=Level)

    @property
    def start(self) -> float:
        return median(self.began)

    def add(self, event: StepStats, loss: float, rate: float) -> bool:
        """Whether it has been far above all that was before for long enough."""
        leaps = max(self.losses.jump(loss), self.norms.jump(event.grad_norm)) > 0
        if len(self.began) < FIRST:
            self.began.append(loss)
            return False
        if self.jumped is None and leaps:
            self.jumped, self.rate = event.step, rate
        if self.jumped is not None:
            return self._after(loss)
        self.span = [*self.span[1 - SPAN :], loss]
        if len(self.span) == SPAN:
            self.lowest = min(self.lowest, median(self.span))
        return False

    def _after(self, loss: float) -> bool:
        floor = max(FOLD * self.lowest, WORSE * self.start)
        if loss < floor or self.lowest > LEARNED * self.start:
            if self.high or loss < self.start:
                self.jumped, self.high = None, []  # it came back
            return False
        self.high.append(loss)
        return len(self.high) >= STAYS and max(self.high) >= WILD * min(self.high)


class LearnedThenBlewUp(Detector):
    """The loss had come down, then leapt to many times its level, above where training began, and stays there.

    ## Why it matters
    What was learned is gone, although nothing is NaN and the run goes on. Checkpoints of the last epochs are useless;
    only one from before the leap is worth keeping.

    ## Usual causes
    A learning rate at the edge of what the model bears, without warm-up or clipping; a batch unlike the others;
    numbers near the limit of 16 bits.

    ## What to do
    Go on from a checkpoint from before the leap, with a lower learning rate or with the gradient norm clipped.

    ## When it stays silent
    When the loss comes back, when it was never lower than half of what it was at the start, when it lies calmly on a
    higher level (a term was added to it), when it may be negative, and in a range test, where the rate only rises.
    """

    card = Card("PM456", "learned-then-blew-up", "exploding", Severity.WARNING).explaining("sudden-jump")
    listens = (StepStats, OptimizerStep)

    def __init__(self) -> None:
        self._courses: dict[int, Course] = {}
        self._rates: dict[int, float] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerStep):
            self._rates[event.optimizer] = max((r for r in event.lrs if not math.isnan(r)), default=0.0)
        elif isinstance(event, StepStats) and event.loss is not None and not self.said(event.optimizer):
            yield from self._lost(event, event.loss)

    def _lost(self, event: StepStats, loss: float) -> Findings:
        key = event.optimizer
        if not (math.isfinite(loss) and loss > 0):
            self.once(key)  # other detectors report what is not finite; a loss with a sign has no level
            return
        rate = self._rates.get(key, 0.0)
        course = self._courses.setdefault(key, Course())
        if not course.add(event, loss, rate):
            return
        self.once(key)
        if rate > STEADY * course.rate:
            return
        yield self.finding(
            event,
            f"the loss had come down from {course.start:.3g} to {course.lowest:.3g}, leapt at step {course.jumped}, and "
            f"has been above {min(course.high):.3g} ever since",
            cause=f"A step went too far (the learning rate is {rate:.3g}), and what had been learned is lost.",
            remedy=f"Go on from a checkpoint from before step {course.jumped}, with a lower learning rate or with "
            "clip_grad_norm_.",
            lowest=course.lowest,
            leapt_at=course.jumped,
            rate=rate,
        )
