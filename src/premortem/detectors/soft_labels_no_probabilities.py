from __future__ import annotations

from premortem.detectors.base import DIVERGING, THRICE, Card, Detector, Findings, Severity
from premortem.events import LossCall


class SoftLabelsNoProbabilities(Detector):
    """cross_entropy is given soft labels that are no probabilities: some are negative or above one.

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

    card = Card("PM408", "soft-labels-no-probabilities", "loss-definition", Severity.ERROR).explaining(
        *DIVERGING, "loss-without-lower-bound", "wrong-sign"
    )
    listens = (LossCall,)

    def observe(self, event: LossCall) -> Findings:
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
            f"cross_entropy is given soft labels from {low:.3g} to {high:.3g} that are no probabilities",
            cause="Each class's log-probability is weighed with its label; negative or large weights make a loss "
            "that grows or falls without end.",
            remedy="Give probabilities that sum to one (softmax of the teacher's scores, one-hot), or integer classes.",
            target_min=low,
            target_max=high,
            sum_error=event.target_sum_error,
        )
