import math
from collections import deque
from statistics import fmean, median
from typing import Any

from premortem.derived.failures import TrainingFailed
from premortem.detectors.base import DIVERGING, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.chance import Chance, Courses, Line
from premortem.detectors.shared.loss_calls import REGRESSING
from premortem.detectors.shared.series import Series
from premortem.events import Backward, Event, GraphWalked, LayerStats, LossCall, RunEnded, Site

# Size of the targets: an output that starts near 0 needs hundreds of steps of usual rates to get there.
_LARGE = 50.0
_CALLS = 100  # of the loss, in which a well-scaled task has left its start


class UnscaledTargets(Detector):
    """The targets are so large that the network spends the whole run on reaching their size.

    ## Why it matters
    A new network's outputs are near 0. With targets around 200,000 the loss is 4e10: plain gradient descent explodes at the
    first step, and an adaptive optimizer, which moves each weight by about its learning rate, needs hundreds of thousands of
    steps to get there. Meanwhile it does not learn what distinguishes one sample from another.

    ## Usual causes
    Prices, counts or physical quantities in raw units as regression targets.

    ## What to do
    Standardise the targets with the training set's mean and standard deviation (or take logarithms), and convert the
    predictions back for display; or set the last bias to the mean of the targets.

    ## When it stays silent
    Targets of any size that the predictions do reach; a few samples whose targets are far larger than all others.
    """

    card = Card("PM432", "unscaled-targets", "data-scale", Severity.WARNING).explaining(
        *DIVERGING,
        "weights-stay-non-finite",
        "updates-too-small",
        "dead-units",
        "clipped-hard-every-step",
        "uninformative-labels",
    )
    uses = (Courses,)
    listens = (LossCall, GraphWalked, LayerStats, Backward, TrainingFailed, RunEnded)

    def __init__(self) -> None:
        # Of each loss, the last calls: mean of the targets, mean of the predictions, spread of the targets.
        self._seen: dict[Line, deque[tuple[float, float, float]]] = {}
        self._squares: dict[Site | None, Series] = {}  # losses written out as mean squares
        self._output = 0.0  # size of what the last layer gave last

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LossCall):
            if event.fn in REGRESSING and event.grad and not event.target_grad:
                self._compared(event)
            return
        if isinstance(event, GraphWalked):
            if event.ops[:2] == ("Mean", "Pow") and event.sense == "min":
                self._squares.setdefault(event.at, Series())
        elif isinstance(event, LayerStats):
            if event.last and event.grad:
                self._output = math.hypot(event.output_mean, event.output_std)
        elif isinstance(event, Backward) and event.at in self._squares and event.value is not None:
            self._squares[event.at].add(event.value)
        elif isinstance(event, TrainingFailed):
            if event.too_large:
                yield from self._broke(event)
        elif isinstance(event, RunEnded) and event.reason != "crashed":
            yield from self._judge(event)

    def _compared(self, event: LossCall) -> None:
        mean, target, spread = event.input_mean, event.target_mean, event.target_std
        if mean is None or target is None or spread is None or not math.isfinite(mean + target + spread):
            return
        self._seen.setdefault((event.at, event.fn), deque(maxlen=8)).append((target, mean, spread))

    def _targets(self, line: Line) -> Chance:
        return self.fact(Courses).trained[line].chance

    def _broke(self, event: Event) -> Findings:
        for line, seen in self._seen.items():
            # A few samples that are far out leave most batches small: not the scale of the targets is wrong then.
            usual = median(math.hypot(target, spread) for target, _, spread in seen)
            if min(usual, self._targets(line).size) > 2 * _LARGE:
                yield self._compared_with(event, line, "and the training diverged", Severity.ERROR)
                return
        for site, values in self._squares.items():
            first = values.values[0] if values.values else 0.0
            if math.isfinite(first) and first > (4 * _LARGE) ** 2:
                size = math.sqrt(first)
                what = f"the squared error began at {first:.3g}, so the targets are of size {size:.3g}, and the training diverged"
                yield self._found(event, site, what, Severity.ERROR, size=size)
                return

    def _judge(self, event: RunEnded) -> Findings:
        for line, seen in self._seen.items():
            if self._targets(line).size < _LARGE or self.fact(Courses).trained[line].values.count < _CALLS:
                continue
            target, output, spread = map(fmean, zip(*seen, strict=True))
            # All targets lie on one side, and the predictions have not come half-way to them.
            if abs(target) > spread and abs(output) < 0.5 * abs(target):
                harm = f"and the predictions have only come to {output:.3g}"
                yield self._compared_with(event, line, harm, Severity.WARNING)
                return
        for site, values in self._squares.items():
            yield from self._written_out(event, site, values)

    def _written_out(self, event: RunEnded, site: Site | None, values: Series) -> Findings:
        """`((pred - y) ** 2).mean()`: its root is the size of the targets as long as the predictions are small."""
        if self.over or values.count < _CALLS:
            return
        head, tail = values.head(), values.tail()
        size = math.sqrt(max(tail, 0.0)) if math.isfinite(tail) else 0.0
        if size > 2 * _LARGE and tail > 0.7 * head and size > 20 * self._output:
            what = (
                f"the squared error went from {head:.3g} to {tail:.3g} in {values.count} steps: the targets are of size "
                f"{size:.3g}, the outputs have only come to {self._output:.3g}"
            )
            yield self._found(event, site, what, Severity.WARNING, size=size, output=self._output)

    def _compared_with(self, event: Event, line: Line, harm: str, severity: Severity) -> Finding:
        size, mean = self._targets(line).size, self._targets(line).mean
        what = f"the targets are of size {size:.3g} (mean {mean:.3g}), {harm}"
        return self._found(event, line[0], what, severity, size=size, mean=mean)

    def _found(self, event: Event, at: Site | None, what: str, severity: Severity, **sizes: Any) -> Finding:
        return self.last_word(
            event,
            what,
            cause="A network starts with outputs near 0 and moves a little at each step. Targets this large are out of "
            "reach, or their gradients are too large.",
            remedy="Standardise the targets (or take logarithms), and convert predictions back for display.",
            at=at,
            severity=severity,
            **sizes,
        )
