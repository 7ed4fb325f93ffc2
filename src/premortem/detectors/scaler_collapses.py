from premortem.derived.failures import better
from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.certificate import birth, blame, known
from premortem.events import Event, NonFinite, ScalerUpdate

ROW = 24  # halvings in a row; a scaler that starts at 65536 finds its level after a few
SMALL = 2.0**-8  # far below 1: to scale gradients down gains nothing


class ScalerCollapses(Detector):
    """The gradient scaler refuses step after step, and its scale falls towards zero.

    ## Why it matters
    A scaler halves its scale when a gradient overflows, and leaves the step out. A few of these at the start are
    normal. If they do not end, no step is made at all: the model stays as it is, and nothing fails.

    ## Usual causes
    The loss or an activation is not finite by itself, at any scale: NaN in the data, an overflow in float16 inside
    the model, the logarithm of 0.

    ## What to do
    Look for what is not finite without the scaler: run a few steps in float32 or bfloat16.
    """

    card = Card("PM450", "scaler-collapses", "numerics-overflow", Severity.ERROR, sudden=True).explaining(
        "step-never-called", "updates-too-small", "gradients-thrown-away", "update-refused"
    )
    listens = (NonFinite, ScalerUpdate)

    def __init__(self) -> None:
        self._origin: NonFinite | None = None  # of what broke last
        self._last: float | None = None
        self._first: float | None = None
        self._row = 0

    def observe(self, event: Event) -> Findings:
        if isinstance(event, NonFinite):
            if self._origin is None or better(event, self._origin):
                self._origin = event
        elif isinstance(event, ScalerUpdate) and event.scale is not None:
            yield from self._moved(event, event.scale)

    def _moved(self, event: ScalerUpdate, scale: float) -> Findings:
        last, self._last = self._last, scale
        if last is None or self._first is None:
            self._first = scale
            return
        self._row = self._row + 1 if scale < last else 0
        if self._row < ROW and not scale < SMALL < self._first:
            return
        origin = self._origin if known(self._origin) else None
        yield self.last_word(
            event,
            f"the gradient scaler refused {self._row} steps in a row; its scale fell from {self._first:.4g} to "
            f"{scale:.4g}{birth(origin)}",
            cause="A gradient is not finite at any scale: what breaks lies in the forward pass, not in the scaling.",
            remedy="Run a few steps in float32 or bfloat16, and repair what is not finite there.",
            row=self._row,
            scale=scale,
            **blame(origin),
        )
