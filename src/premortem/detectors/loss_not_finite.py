import math
from collections import deque
from collections.abc import Iterator

from premortem.cards import Card
from premortem.derived.certificate import blame, certainty, known, sentence
from premortem.derived.failures import climbing
from premortem.detectors.base import Detector
from premortem.events import Event, NonFinite, StepStats
from premortem.findings import Finding, Severity


class LossNotFinite(Detector):
    """The loss of a step was NaN or infinite, while its gradients were finite and the step was made.

    ## Why it matters
    The weights are sound, so the run goes on and looks well. But part of the batch was lost for learning: where the
    loss is infinite the gradient was cut off (by `relu`, `clamp`, a mask), and every mean in the log is NaN.

    ## Usual causes
    The logarithm, `lgamma` or `atanh` of a value at the edge of their domain, behind a `clamp` or `relu` that stops the
    gradient; 0 times infinity.

    ## What to do
    Keep the argument away from the edge (`clamp(min=eps)` with an eps above 0), or use the function that is made for it
    (`xlogy`, `log1p`, `logsigmoid`).

    ## When it stays silent
    While the learning rate climbs without end: a range test is there to find the limit.
    """

    card = Card("PM452", "loss-not-finite", "numerics-nan", Severity.WARNING)
    listens = (StepStats, NonFinite)

    def __init__(self) -> None:
        self._origin: NonFinite | None = None
        self._rates: deque[float] = deque(maxlen=64)

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, NonFinite):
            self._origin = event
        elif isinstance(event, StepStats):
            self._rates.append(event.lr)
            if event.loss is None or math.isfinite(event.loss):
                self._origin = None
            elif event.worst is None and event.weights_finite and not climbing(list(self._rates)):
                self.over = True
                yield self._found(event, event.loss, self._origin if known(self._origin) else None)

    def _found(self, event: StepStats, loss: float, origin: NonFinite | None) -> Finding:
        birth = f": {sentence(origin)}" if origin is not None else ""
        return self.finding(
            event,
            f"the loss of step {event.step} was {loss:.4g}, though its gradients were finite{birth}",
            cause="Where the loss is not finite its gradient was cut off, so that part of the batch taught nothing.",
            remedy="Keep the argument of that operation away from the edge of its domain.",
            certainty=certainty(origin),
            **blame(origin),
        )
