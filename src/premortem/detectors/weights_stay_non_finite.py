import math
from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import Event, OptimizerBuilt, StateLoaded, StepStats
from premortem.findings import Finding, Severity

_STEPS = 50  # steps: a range test or a script that restores its weights has done so by then


class WeightsStayNonFinite(Detector):
    """The weights have been NaN or infinite for many steps, and the run goes on.

    ## Why it matters
    No later step can bring them back: every hour from here on is lost.

    ## Usual causes
    Whatever made the first loss or gradient non-finite; its own finding names it.

    ## What to do
    Stop, repair the cause, and start again from the last good checkpoint. The policy `protect` stops the run here.
    """

    card = Card(
        "PM444", "weights-stay-non-finite", "numerics-nan", Severity.ERROR, explains=("poisoned-checkpoint",)
    )
    listens = (StepStats, StateLoaded, OptimizerBuilt)

    def __init__(self) -> None:
        self._bad: dict[int, int] = {}
        self._weights: set[int] = set()  # optimizers whose weights were looked at and were broken

    def observe(self, event: Event) -> Iterator[Finding]:
        if not isinstance(event, StepStats):
            self._bad.clear()
            self._weights.clear()
            return
        key = event.optimizer
        broken = event.worst is not None or (event.loss is not None and not math.isfinite(event.loss))
        if not broken and event.weights_finite:
            self._bad.pop(key, None)
            self._weights.discard(key)
            return
        if not event.weights_finite:
            self._weights.add(key)
        self._bad[key] = self._bad.get(key, 0) + 1
        if self._bad[key] >= _STEPS and key in self._weights:
            self.over = True
            yield self.finding(
                event,
                f"the weights have not been finite for {self._bad[key]} steps",
                cause="Nothing that is computed from NaN weights is anything but NaN; no step can repair them.",
                remedy="Stop this run and restart from the last checkpoint with finite weights, after fixing the cause.",
                steps=self._bad[key],
            )
