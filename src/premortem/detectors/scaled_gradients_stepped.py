from __future__ import annotations

from collections import Counter

from premortem.detectors.base import DIVERGING, THRICE, Card, Detector, Findings, Severity
from premortem.events import OptimizerStep


class ScaledGradientsStepped(Detector):
    """An optimizer steps on gradients that still carry the scale of a GradScaler.

    ## Why it matters
    `scaler.scale(loss)` multiplies the gradients by up to 65536. `optimizer.step()` uses them as they are: plain
    SGD takes steps that are as much too long, clipping clips everything, and an overflow is not skipped.

    ## Usual causes
    - `optimizer.step()` where `scaler.step(optimizer)` was meant

    ## What to do
    `scaler.step(optimizer)`, then `scaler.update()`.
    """

    card = Card("PM126", "scaled-gradients-stepped", "update-order", Severity.ERROR).explaining(
        *DIVERGING, "clipped-hard-every-step", "weights-stay-non-finite"
    )
    listens = (OptimizerStep,)

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()

    def observe(self, event: OptimizerStep) -> Findings:
        if event.scaled and not event.touched:
            self._times[event.optimizer] += 1
            if self._times[event.optimizer] == THRICE:
                yield self.finding(
                    event,
                    f"{event.kind} steps on gradients that are still multiplied by the GradScaler's scale",
                    cause="backward() ran on scaler.scale(loss), and nobody unscaled the gradients before step()",
                    remedy="call `scaler.step(optimizer)` and `scaler.update()` instead of `optimizer.step()`",
                    steps=THRICE,
                )
