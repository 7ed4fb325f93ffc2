"""PM408 soft-labels-no-probabilities."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.events import LossCall
from premortem.findings import Finding, Severity


class SoftLabelsNoProbabilities(Detector):
    """cross_entropy is given soft labels that are not probabilities: some are negative or above one.

    ## Why it matters
    With a target of the same shape as the scores, cross_entropy weighs the log-probability of each class with it. A
    negative weight is minimised by driving that class's probability to zero without end, so the loss has no bottom and
    the scores grow for ever.

    ## Usual causes
    The teacher's raw scores as target, without softmax; class indices or pixel values converted to float; a one-hot
    tensor that was scaled or standardised along with the inputs.

    ## What to do
    Give probabilities (`softmax(teacher, dim=1)`, one-hot rows), or class indices as integers.
    """

    card = Card(
        code="PM408",
        name="soft-labels-no-probabilities",
        family="loss-definition",
        severity=Severity.ERROR,
        explains=(
            "loss-without-lower-bound",
            "exploding-gradients",
            "updates-too-large",
            "non-finite-training",
            "overflow",
            "wrong-sign",
        ),
    )
    listens = (LossCall,)

    def observe(self, event: LossCall) -> Iterator[Finding]:
        if event.target_sum_error is None or not event.grad:
            return
        low, high = event.target_min, event.target_max
        if low is None or high is None or (low > -1e-3 and high < 1.05):
            return
        if self.times(event.at) < THRICE:
            return
        self.over = True
        yield self.finding(
            event,
            f"cross_entropy is given soft labels from {low:.3g} to {high:.3g} that are not probabilities",
            cause="Each class's log-probability is weighed with its label; negative or large weights make a loss "
            "that grows or falls without end.",
            remedy="Give probabilities that sum to one (softmax of the teacher's scores, one-hot), or integer classes.",
            target_min=low,
            target_max=high,
            sum_error=event.target_sum_error,
        )
