from premortem.amounts import share
from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import GraphWalked
from premortem.profile.weighting import SEVERAL, hardly_any


class FewRowsCanChangeTheModel(Detector):
    """Nearly all rows have a weight of 0 in the loss: the model is trained on the few others.

    ## Why it matters
    The log shows full epochs and a loss that falls, and the model has learned from a few per cent of the data.

    ## Usual causes
    Weights that were stored as whole numbers, so that all below 1 became 0; an exponential that underflowed; a join that found weights for
    a few rows and filled the rest with 0; a weight of another dataset.

    ## What to do
    Look at the column of weights, and count its zeros. Leave rows out before training if they are not to be trained on.

    ## How it is measured
    In audited steps, in the graph: every way from the loss to what the model gave goes through a product with one number for each row, and these
    numbers are 0 where a column that the loader gave is 0. The gradient of such a row is exactly 0.

    ## When it stays silent
    When a twentieth of the rows counts, or some other term of the loss looks at the rest; for weights that are all equal where they are not 0: a mask
    says on purpose what does not count. Below 100 rows and three losses.
    """

    card = Card("PM166", "few-rows-can-change-the-model", "data-empty", Severity.WARNING).explaining(
        "metric-frozen",
        "updates-too-small",
        "evaluation-at-chance",
        "uninformative-labels",
        "vanishing-gradients",
    )
    listens = (GraphWalked,)

    def __init__(self) -> None:
        self._rows = self._counted = 0
        self._uneven = False

    def observe(self, event: GraphWalked) -> Findings:
        seen = event.weighed
        if seen is None:
            return
        self._rows += seen.rows
        self._counted += seen.counted
        self._uneven = self._uneven or seen.uneven
        if self.times("weighed") < THRICE or self._rows < SEVERAL or not self._uneven:
            return
        if hardly_any(self._counted, self._rows) and self.once("found"):
            yield self.finding(
                event,
                f"{self._counted} of {self._rows} rows of the losses that were looked at ({share(self._counted, self._rows)}) have a weight other than 0: no other row "
                "can change the model",
                cause="The loss multiplies each row with a number of the data, and nearly all of these are 0.",
                remedy="Look at the column of weights: one that was rounded, or joined from elsewhere, has zeros where it should not.",
                certainty=Certainty.MEASURED,
                rows=self._rows,
                counted=self._counted,
            )
