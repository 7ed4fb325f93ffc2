from __future__ import annotations

from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity
from premortem.events import LossCall

_LOGS = frozenset({"log_softmax", "log", "logsigmoid", "log1p", "logaddexp"})


class KlArguments(Detector):
    """kl_div is given probabilities where it wants their logarithms, or logarithms where it wants probabilities.

    ## Why it matters
    `F.kl_div(input, target)` wants log-probabilities first and probabilities second, the other way round from the
    formula. With anything else it still returns a number, often a negative one, and its gradient pulls nowhere useful.

    ## Usual causes
    Softmax instead of log_softmax on the student; the two arguments swapped; log-probabilities as the target without
    `log_target=True`, or probabilities with it; raw scores.

    ## What to do
    `F.kl_div(F.log_softmax(student, -1), F.softmax(teacher, -1), reduction="batchmean")`.

    ## When it stays silent
    The reverse divergence (the teacher's log-probabilities first, the student's probabilities second) is in order.
    """

    card = Card("PM404", "kl-arguments", "loss-definition", Severity.ERROR).explaining(
        "loss-without-lower-bound", "exploding-gradients", "updates-too-small", "non-finite-training"
    )
    listens = (LossCall,)

    def observe(self, event: LossCall) -> Findings:
        if event.fn != "kl_div":
            return
        if not (event.grad or event.target_grad):
            return
        wrong = self._wrong(event)
        if not wrong:
            return
        if self.times((event.at, wrong)) < THRICE:
            return
        self.over = True
        yield self.finding(
            event,
            f"kl_div: {wrong}",
            cause="kl_div(input, target) expects log-probabilities as input and probabilities as target; with "
            "anything else the number it returns is no divergence, and minimising it teaches nothing.",
            remedy="F.kl_div(F.log_softmax(student, dim=-1), F.softmax(teacher, dim=-1), reduction='batchmean')",
            input_min=event.input_min,
            input_max=event.input_max,
            target_min=event.target_min,
            target_max=event.target_max,
            input_op=event.input_op,
        )

    def _wrong(self, event: LossCall) -> str:
        low, high = event.input_min, event.input_max
        target_low, target_high = event.target_min, event.target_max
        if low is None or high is None or target_low is None or target_high is None:
            return ""
        if event.input_op not in _LOGS and high > 1e-3:
            if low >= 0 and high <= 1 + 1e-4:
                return "the input holds probabilities, not their logarithms"
            return f"the input holds raw scores (up to {high:.3g}), not log-probabilities, which are never above 0"
        if not event.log_target and target_low < -1e-3:
            return f"the target holds negative numbers (down to {target_low:.3g}): logarithms or raw scores, not probabilities"
        if event.log_target and target_low >= 0 and target_high > 1e-3:
            return "log_target=True, but the target holds probabilities, not their logarithms"
        return ""
