from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.events import OptimizerStep
from premortem.findings import Finding, Severity


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

    card = Card(
        code="PM126",
        name="scaled-gradients-stepped",
        family="update-order",
        severity=Severity.ERROR,
        explains=(
            "exploding-gradients",
            "updates-too-large",
            "clipped-hard-every-step",
            "non-finite-training",
            "weights-stay-non-finite",
            "overflow",
        ),
    )
    listens = (OptimizerStep,)

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()

    def observe(self, event: OptimizerStep) -> Iterable[Finding]:
        if event.scaled and not event.touched:
            self._times[event.optimizer] += 1
            if self._times[event.optimizer] == THRICE:
                yield self.finding(
                    event,
                    f"{event.kind} steps on gradients that are still multiplied by the GradScaler's scale",
                    cause="backward() ran on scaler.scale(loss), and nothing unscaled the gradients before step()",
                    remedy="call `scaler.step(optimizer)` and `scaler.update()` instead of `optimizer.step()`",
                    steps=THRICE,
                )
