import math

from premortem.detectors.base import Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.motion import Audit, Motion, Motions
from premortem.detectors.shared.optimizers import Optimizers
from premortem.detectors.shared.scales import Scales
from premortem.events import Event, RunEnded, StepStats

LARGE = 0.25  # of the weight matrices in one step; a healthy step changes them by about a thousandth
EARLY = 8  # audited steps at the start, where a rate that is too large shows first
PATIENCE = 60  # steps until a run should have got over its first jumps
SOON = 20  # steps are enough for a loss that is thrown far away and stays there
PULL = 20.0  # a gradient this much larger than its weights is a cause of its own
BLOWN = 100.0  # times its first value: a loss that went there was thrown there
THROWN = 100.0  # times the weight matrices in the very first step: they are nowhere near where they were
FLUNG = 1000.0  # times: after such a first step a few more show where the loss goes, however large the gradients were
HUGE = 10.0  # for a single entry of a matrix: those of trained networks lie below 1, however small they began
BY_THE_RATE = 100.0  # times the gradient: what made the step so large is the factor in front of it
FAR = 0.5  # of the weight matrices in the first steps together, which is then enough
LONG = 480  # steps after which the finding does not wait for the end of the run


class UpdatesTooLarge(Detector):
    """The first steps change the weights by as much as the weights themselves, and the loss never recovers.

    ## Why it matters
    What the initialisation gave is destroyed before anything is learned: the loss jumps to many times its first
    value, units die or saturate, and training ends in NaN or stays at chance level.

    ## Usual causes
    A learning rate that is too high for this optimizer (0.1 is usual for SGD, 0.001 for Adam).

    ## What to do
    Divide the learning rate by ten until the loss falls from the first steps on; a short warm-up helps.

    ## When it stays silent
    When the loss soon falls below where it started, when the rate rises on purpose (a range test), and when the
    gradients or the data are enormous themselves (then those are to blame). Where the very first step is hundreds of times
    larger than the weights and not for their gradients, nothing is waited for.
    """

    card = Card("PM213", "updates-too-large", "lr", Severity.ERROR).explaining(
        "non-finite-training",
        "weights-stay-non-finite",
        "overflow",
        "exploding-gradients",
        "vanishing-gradients",
        "dead-units",
        "saturated-activations",
        "metric-frozen",
        "clipped-hard-every-step",
        "plateau-fed-non-finite",
    )
    uses = (Motions, Optimizers, Scales)
    listens = (StepStats, RunEnded)

    def __init__(self) -> None:
        self._first: dict[int, float] = {}  # optimizer -> its first loss
        self._worst: dict[int, float] = {}  # ... and the highest since
        self._after: dict[int, float] = {}  # ... and the middle loss up to the end of our patience

    def observe(self, event: Event) -> Findings:
        if isinstance(event, RunEnded):
            for key in self.fact(Motions).of:
                yield from self._judge(event, key)
        elif isinstance(event, StepStats):
            yield from self._stepped(event)

    def _stepped(self, event: StepStats) -> Findings:
        key = event.optimizer
        broken = not math.isfinite(event.grad_norm)
        if event.loss is not None:
            self._first.setdefault(key, event.loss)
            broken = broken or not math.isfinite(event.loss)
            if math.isfinite(event.loss):
                self._worst[key] = max(self._worst.get(key, -math.inf), event.loss)
        motion = self.fact(Motions).of[key]
        if motion.steps == PATIENCE and motion.losses.values:
            self._after[key] = motion.losses.tail(0.5)
        blown = self._worst.get(key, 0.0) > BLOWN * self._first.get(key, math.inf) > 0
        if broken or (blown and motion.steps >= LONG) or thrown(motion):
            yield from self._judge(event, key, broken=broken)

    def _judge(self, event: Event, key: int, *, broken: bool = False) -> Findings:
        motion = self.fact(Motions).of[key]
        first, worst = self._first.get(key, math.nan), self._worst.get(key, math.nan)
        if self.said(key) or motion.rose > 10:
            return
        if thrown(motion):
            outcome, severity = "nothing of the initialisation is left", Severity.ERROR
        elif self.fact(Scales).unusual or math.isnan(first + worst):
            return
        elif broken:
            outcome, severity = diverged(motion, first, worst)
        else:
            outcome, severity = unsettled(motion, first, worst, self._after.get(key, math.nan))
        if outcome:
            self.once(key)
            yield self._found(event, key, motion, outcome, severity)

    def _found(self, event: Event, key: int, motion: Motion, outcome: str, severity: Severity) -> Finding:
        early = max(audit.typical for audit in motion.audits if not math.isnan(audit.typical))
        return self.finding(
            event,
            f"the first steps changed the weights by up to {early:.0%} each; {outcome}",
            cause=f"The learning rate ({motion.rates[0]:.3g}) is too high: gradients are of ordinary size, "
            "the steps are not.",
            remedy="Divide the learning rate by ten until the loss falls from the first steps on.",
            at=self.fact(Optimizers).at(key),
            severity=severity,
            rate=motion.rates[0],
            update=early,
        )


def thrown(motion: Motion) -> bool:
    """The first step was hundreds of times larger than the weights, and the gradient was not: no later loss is needed."""
    first = motion.audits[0] if motion.audits else None
    return (
        first is not None and first.entry >= HUGE and first.typical >= max(THROWN, BY_THE_RATE * first.pull)
    )


def diverged(motion: Motion, first: float, worst: float) -> tuple[str, Severity]:
    """It grew from the start until it broke; what breaks after it has learned something has other causes."""
    grew = worst > 10 * abs(first) and motion.losses.best() > 0.5 * first
    if motion.steps > 4 * PATIENCE or not grew or not jumped(motion, motion.audits):
        return "", Severity.ERROR
    return f"the loss went from {first:.3g} to {worst:.3g} and is not finite any more", Severity.ERROR


def unsettled(motion: Motion, first: float, worst: float, after: float) -> tuple[str, Severity]:
    """It never came back to where it started, or only after a long time."""
    looks = motion.audits[:EARLY]
    lost = motion.losses.values and min(motion.losses.best(), motion.losses.tail()) > BLOWN * first
    soon = EARLY if max(_sizes(looks[:1]), default=0.0) >= FLUNG else SOON if lost else PATIENCE
    if motion.steps < soon or first <= 0 or worst < 1.5 * first:
        return "", Severity.ERROR
    if not jumped(motion, looks) and not (worst > BLOWN * first and strayed(motion, looks)):
        return "", Severity.ERROR
    up = f"the loss went from {first:.3g} up to {worst:.3g}"
    now = motion.losses.tail()
    if motion.losses.best() >= 0.9 * first and now >= 0.95 * first:
        return f"{up} and is still {now:.3g}", Severity.ERROR
    if after > first and worst > 5 * first:
        return f"{up} and was still {after:.3g} after {PATIENCE} steps", Severity.WARNING
    return "", Severity.ERROR


def jumped(motion: Motion, looks: list[Audit]) -> bool:
    """At least three steps were about as large as the weights, though the first gradient was not."""
    sizes = _sizes(looks)
    large = sum(size >= LARGE for size in sizes)
    return bool(sizes) and by_the_rate(motion.audits[0]) and large >= min(3, len(sizes))


def strayed(motion: Motion, looks: list[Audit]) -> bool:
    """No step was so large, but the first ones together led far away from where the weights began."""
    sizes = _sizes(looks)
    return bool(sizes) and by_the_rate(motion.audits[0]) and sum(sizes) >= FAR


def by_the_rate(first: Audit) -> bool:
    """The gradient was of ordinary size, or the step was larger still: a rate above 1 has made it so."""
    return first.pull <= PULL or first.typical >= first.pull


def _sizes(looks: list[Audit]) -> list[float]:
    return [audit.typical for audit in looks if not math.isnan(audit.typical)]
