from __future__ import annotations

import re

from premortem.detectors.base import DIVERGING, THRICE, Card, Detector, Findings, Severity
from premortem.events import Event, LossCall, RunEnded

_OUT_OF_BOUNDS = re.compile(r"Target (-?\d+) is out of bounds")
_BETWEEN_0_AND_1 = frozenset({"binary_cross_entropy", "binary_cross_entropy_with_logits"})
_PLUS_OR_MINUS_1 = frozenset({"soft_margin_loss", "hinge_embedding_loss"})


class LabelsOutsideTheLoss(Detector):
    """The labels are numbers the loss has no meaning for.

    ## Why it matters
    Binary cross-entropy with a label of 2 or of -1 is minimised by a score of plus or minus infinity: the loss goes below
    zero without end. A margin loss with labels 0 and 1 instead of -1 and 1 ignores every 0.

    ## Usual causes
    Classes numbered from 1; masks with 255 for foreground; labels -1/1 given to binary cross-entropy, or 0/1 to a margin
    loss; labels standardised together with the inputs; negative counts in a Poisson loss.

    ## What to do
    Map the labels to what the loss wants, and look at `y.unique()` after loading.
    """

    card = Card(
        "PM423", "labels-outside-the-loss", "data-labels", Severity.ERROR, explains_here=("unscaled-targets",)
    ).explaining(
        *DIVERGING, "loss-without-lower-bound", "wrong-sign", "uninformative-labels", "saturated-activations"
    )
    listens = (LossCall, RunEnded)

    def observe(self, event: Event) -> Findings:
        if isinstance(event, RunEnded):
            yield from self._ended(event)
        elif isinstance(event, LossCall) and event.grad and not event.target_grad:
            yield from self._compared(event)

    def _ended(self, event: RunEnded) -> Findings:
        found = _OUT_OF_BOUNDS.search(event.message) if event.reason == "crashed" else None
        if found:
            yield self.finding(
                event,
                f"the run ended after {event.step} steps on a label of {found[1]}, for which the model has no output",
                cause="Classes are numbered from 0, one for each output of the last layer.",
                remedy="Number the classes from 0, and give the last layer one output for each of them.",
                label=int(found[1]),
            )

    def _compared(self, event: LossCall) -> Findings:
        wanted = misfit(event)
        if not wanted:
            return
        if self.times(event.at) < THRICE:
            return
        self.over = True
        some = sorted(event.classes)[:4] if event.classes else None
        shown = (
            ", ".join(f"{v:g}" for v in some) if some else f"{event.target_min:.3g} to {event.target_max:.3g}"
        )
        yield self.finding(
            event,
            f"{event.fn} is given labels {shown}: it wants {wanted}",
            cause="For such labels the loss has no minimum, or does not depend on the prediction at all.",
            remedy=f"Map the labels to {wanted} where the data is read.",
            target_min=event.target_min,
            target_max=event.target_max,
            classes=event.classes,
        )


def misfit(event: LossCall) -> str:
    """What the loss wants, when the labels are something else."""
    low, high = event.target_min, event.target_max
    if low is None or high is None:
        return ""
    if event.fn in _BETWEEN_0_AND_1 and (low < -0.05 or high > 1.05):
        return "numbers from 0 to 1"
    if (
        event.fn in _PLUS_OR_MINUS_1
        and event.classes
        and 0.0 in event.classes
        and set(event.classes) <= {0.0, 1.0}
    ):
        return "-1 and 1"
    if event.fn == "poisson_nll_loss" and low < -1e-3:
        return "counts, which are never negative"
    return ""
