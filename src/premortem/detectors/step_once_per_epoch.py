from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from premortem.cards import Card
from premortem.derived.windows import STEPPED, WindowEnded
from premortem.detectors.base import THRICE, TWICE, Detector
from premortem.events import EpochEnded, EpochStarted, Event, LogLine
from premortem.findings import Finding, Severity
from premortem.metric_words import EPOCHS

MANY = 8  # batches in an epoch; a few may be one deliberate large batch


class StepOncePerEpoch(Detector):
    """The gradients of a whole epoch are summed up, and `step()` is called once at its end.

    ## Why it matters
    There is one update per epoch instead of one per batch, and it is as many times too large as there are
    batches.

    ## Usual causes
    - `step()` and `zero_grad()` slipped out of the batch loop by their indentation

    ## What to do
    Move both into the batch loop. For full-batch training divide each loss by the number of batches.

    ## When it stays silent
    When the losses are divided, or are sums over samples, as in deliberate full-batch training.
    """

    card = Card(
        code="PM127",
        name="step-once-per-epoch",
        family="update-order",
        severity=Severity.WARNING,
        explains=(
            "accumulation-not-divided",
            "exploding-gradients",
            "updates-too-large",
            "updates-too-small",
            "clipped-hard-every-step",
            "scheduler-stepped-per-batch",
        ),
    )
    listens = (WindowEnded, EpochStarted, EpochEnded, LogLine)

    def __init__(self) -> None:
        self._loaders = False
        self._passes: list[int] = []  # batches of the loader passes that ended since the last step
        self._lines = 0  # lines about an epoch since the last step
        self._times: Counter[tuple[int, int, bool]] = Counter()

    def observe(self, event: Event) -> Iterable[Finding]:
        if isinstance(event, WindowEnded):
            if event.end == STEPPED:
                yield from self._window(event)
                self._passes.clear()
                self._lines = 0
        elif isinstance(event, EpochStarted):
            self._loaders = True
        elif isinstance(event, EpochEnded):
            if event.complete:
                self._passes.append(event.batches)
        elif isinstance(event, LogLine):
            self._lines += bool(event.values) and event.values[0][0] in EPOCHS

    def _window(self, window: WindowEnded) -> Iterable[Finding]:
        optimizer, n = window.optimizer, len(window.micros)
        if n < MANY or window.site is None or window.gated or window.touched or window.closure:
            return
        if any(weight != 1.0 for weight in window.weights):
            return
        by_loader = n in self._passes
        by_line = not self._loaders and self._lines == 1
        if not by_loader and not by_line:
            return
        self._times[optimizer, n, by_loader] += 1
        if self._times[optimizer, n, by_loader] >= (TWICE if by_loader else THRICE) and self.once(optimizer):
            yield self.finding(
                window,
                f"one step per epoch, on the sum of all {n} batches",
                cause="step() stands outside the batch loop, and the losses are not divided by the number of batches",
                remedy="call zero_grad() and step() in the batch loop",
                at=window.at,
                batches=n,
            )
