from premortem.derived.certificate import blame, sentence
from premortem.detectors.base import FADING, TWICE, Card, Certainty, Detector, Findings, Severity
from premortem.events import Backward, Event, Underflowed


class Underflow(Detector):
    """Numbers became exactly 0 because they are too small for their type, and with them all gradients.

    ## Why it matters
    Nothing is learnt: every gradient is 0. The loss is a constant, and where a `clamp` or an `eps` keeps its logarithm finite,
    nothing in the log shows why.

    ## Usual causes
    The product of many probabilities, `exp` of a large negative number (a likelihood, a kernel that is too narrow), a small loss or
    gradient in float16.

    ## What to do
    Compute with logarithms: add `log_softmax` instead of multiplying `softmax`, `logsumexp` instead of a sum of `exp`. In float16
    use a gradient scaler, or bfloat16.

    ## When it stays silent
    While any gradient is not 0, and when the loss came down before: then there may be nothing left to learn.
    """

    card = Card("PM247", "underflow", "vanishing", Severity.ERROR).explaining(
        *FADING, "uninformative-labels", "stepped-but-not-moved", "saturated-activations", "dead-units"
    )
    listens = (Underflowed, Backward)

    def __init__(self) -> None:
        self._first: float | None = None  # loss

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Backward):
            self._first = event.value if self._first is None else self._first
        elif isinstance(event, Underflowed):
            fell = self._first is not None and event.value < self._first
            if not fell and self.times("steps") >= TWICE:
                yield self.last_word(
                    event,
                    f"{sentence(event.origin)}: every gradient is exactly 0, and nothing is learnt",
                    cause="The true result is too small for its type, so it became 0, and what is 0 passes no gradient on.",
                    remedy="Compute with logarithms (log_softmax, logsumexp, sums instead of products), or in a wider type.",
                    certainty=Certainty.PROVED,
                    **blame(event.origin),
                )
