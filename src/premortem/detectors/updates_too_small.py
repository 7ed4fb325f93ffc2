"""PM212 updates-too-small."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.motion import Motion, Motions
from premortem.events import Event, OptimizerBuilt, RunEnded, Site
from premortem.findings import Finding, Severity

SMALL = 2e-5  # of the weights, in one step: the slowest fine-tuning moves them several times as far
FAR = 0.02  # of the weights, in all steps together: who has come this far has learnt


class UpdatesTooSmall(Detector):
    """Every step changes the weights by so little that the whole run hardly moves them.

    ## Why it matters
    After thousands of steps the model is still where it was initialised. The loss is flat, nothing is wrong in
    the log, and more epochs do not help.

    ## Usual causes
    A learning rate with too many zeros (1e-6 instead of 1e-3), one made for another optimizer, or a rate that is
    multiplied down twice.

    ## What to do
    Raise the learning rate by factors of ten until an update is about a thousandth of the weights.

    ## When it stays silent
    Weights that were loaded or trained before (fine-tuning may be this gentle), runs of fewer than 100 steps,
    warm-ups, and any run whose loss falls.
    """

    card = Card(
        code="PM212",
        name="updates-too-small",
        family="lr",
        severity=Severity.ERROR,
        explains=("metric-frozen",),
        explains_later=("vanishing-gradients",),
    )
    uses = (Motions,)
    listens = (OptimizerBuilt, RunEnded)

    def __init__(self) -> None:
        self._built: dict[int, Site | None] = {}

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, OptimizerBuilt):
            self._built.setdefault(event.optimizer, event.at)
        elif isinstance(event, RunEnded):
            for key, motion in self.fact(Motions).of.items():
                if stands_still(motion):
                    yield self._found(event, key, motion)

    def _found(self, event: Event, key: int, motion: Motion) -> Finding:
        together = motion.steps * motion.largest
        return self.finding(
            event,
            f"an update is at most {motion.largest:.1e} of the weights: {motion.steps} steps moved them by less "
            f"than {together:.1%}, and the loss did not fall",
            cause=f"The learning rate ({motion.rates[2]:.3g}) is too small for these gradients.",
            remedy="Raise the learning rate by factors of ten until an update is about a thousandth of the weights.",
            at=self._built.get(key),
            severity=Severity.ERROR if together < 0.5 * FAR else Severity.WARNING,
            largest=motion.largest,
            steps=motion.steps,
            rate=motion.rates[2],
            gain=motion.losses.gain(),
        )


def stands_still(motion: Motion) -> bool:
    return (
        motion.steps >= 100
        and len(motion.audits) >= 8
        and motion.fresh
        and motion.pulled
        and bool(motion.rates)
        and motion.rates[2] > 0
        and motion.largest <= SMALL
        and motion.steps * motion.largest <= FAR
        and motion.losses.count >= 50
        and motion.losses.gain() < 0.1
    )
