import math
from collections import deque
from collections.abc import Iterator
from statistics import median

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import StepStats
from premortem.findings import Finding, Severity

ENOUGH = 32  # steps before a level is known: half of what is kept
KEPT = 64  # losses that make the level, so that it follows the training
SPREADS = 10  # robust standard deviations above the level, where no tail of batch noise reaches
FOLD = 20  # and at least so many times the level: quiet series have hardly any spread


class Level:
    """Where a positive series has been lately, on a logarithmic scale: whatever its unit."""

    def __init__(self) -> None:
        self._logs: deque[float] = deque(maxlen=KEPT)

    def jump(self, value: float) -> float:
        """How many times its level this value is, if it lies far outside of its spread; 0 when it does not."""
        if not value > 0 or not math.isfinite(value):
            return 0.0
        log = math.log(value)
        found = 0.0
        if len(self._logs) >= ENOUGH and log - self._logs[-1] > 1:
            middle = median(self._logs)
            spread = 1.4826 * median(abs(each - middle) for each in self._logs)
            if log - middle > max(SPREADS * spread, math.log(FOLD)):
                found = math.exp(log - middle)
        self._logs.append(log)
        return found


class SuddenJump(Detector):
    """The loss or the gradient norm jumped far above its recent level: an early sign, no failure yet.

    ## Why it matters
    Many runs that end in NaN show one or two jumps before. Many healthy runs have one as well, so this is a note.

    ## Usual causes
    A batch unlike the others, a learning rate at the edge of what the model bears, 16-bit numbers near their limit.

    ## What to do
    Look at the batch of that step. If jumps come again, lower the learning rate or clip the gradient norm.
    """

    card = Card("PM449", "sudden-jump", "exploding", Severity.INFO)
    listens = (StepStats,)

    def __init__(self) -> None:
        self._losses: dict[int, Level] = {}
        self._norms: dict[int, Level] = {}

    def observe(self, event: StepStats) -> Iterator[Finding]:
        norm = self._norms.setdefault(event.optimizer, Level()).jump(event.grad_norm)
        loss = 0.0
        if event.loss is not None:
            loss = self._losses.setdefault(event.optimizer, Level()).jump(event.loss)
        if norm or loss:
            self.over = True
            what, fold, value = (
                ("the loss", loss, event.loss)
                if loss > norm
                else ("the gradient norm", norm, event.grad_norm)
            )
            yield self.finding(
                event,
                f"{what} jumped to {value:.4g}, {fold:.3g} times its recent level",
                cause="One batch unlike the others, or a step that went too far.",
                remedy="Look at that batch; if it comes again, lower the learning rate or clip the gradient norm.",
                fold=fold,
            )
