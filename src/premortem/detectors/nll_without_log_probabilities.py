from __future__ import annotations

from premortem.detectors.base import DIVERGING, THRICE, Card, Detector, Findings, Severity
from premortem.events import LossCall, Site

# What yields logs of probabilities. log_softmax over another dimension is another mistake (over-the-batch-dimension).
_LOGS = frozenset({"log_softmax", "log", "logsigmoid", "log1p"})


class NllWithoutLogProbabilities(Detector):
    """nll_loss is given something that is not log-probabilities.

    ## Why it matters
    nll_loss only picks the entry of the right class and turns its sign. Of raw scores it can be made as small as one
    likes by making all of them large, so the loss falls without end while nothing is learned about the other classes;
    of probabilities it is a weak loss between -1 and 0.

    ## Usual causes
    `nn.NLLLoss` in the place of `nn.CrossEntropyLoss`; a model that ends in softmax instead of log_softmax.

    ## What to do
    Use `cross_entropy` on raw scores, or end the model in `log_softmax(dim=1)`.
    """

    card = Card("PM403", "nll-without-log-probabilities", "loss-definition", Severity.ERROR).explaining(
        *DIVERGING, "loss-without-lower-bound", "wrong-sign"
    )
    listens = (LossCall,)

    def __init__(self) -> None:
        self._clear: set[Site | None] = set()  # lines that were given log-probabilities

    def observe(self, event: LossCall) -> Findings:
        if event.fn != "nll_loss" or not event.grad:
            return
        if event.row_logsumexp is None or event.input_max is None or event.input_min is None:
            return
        # Log-probabilities are not above 0, and their exponentials sum to one.
        wrong = event.row_logsumexp > (0.1 if event.input_max > 1e-3 else 1.0)
        if event.input_op in _LOGS or not wrong:
            self._clear.add(event.at)
        if event.at in self._clear:
            return
        if self.times(event.at) < THRICE:
            return
        self.over = True
        softmax = event.input_op == "softmax" or (
            event.row_sum_error is not None and event.row_sum_error < 1e-4 and event.input_min >= 0
        )
        what = "probabilities" if softmax else "raw scores"
        yield self.finding(
            event,
            f"nll_loss is given {what}, not log-probabilities (values from {event.input_min:.3g} to "
            f"{event.input_max:.3g}; the logarithm of a probability is never above 0)",
            cause="nll_loss takes the logarithm for granted: it returns minus the entry of the right class, whatever "
            "that is, so the other classes never count.",
            remedy="Use F.cross_entropy on the raw scores, or apply F.log_softmax(..., dim=1) first.",
            input_min=event.input_min,
            input_max=event.input_max,
            logsumexp=event.row_logsumexp,
            input_op=event.input_op,
        )
