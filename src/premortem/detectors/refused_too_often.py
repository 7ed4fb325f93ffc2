from collections.abc import Iterator

from premortem.cards import Card
from premortem.derived.certificate import birth, blame, certainty, known
from premortem.derived.failures import better
from premortem.detectors.base import Detector
from premortem.events import Event, NonFinite, StepRefused
from premortem.findings import Finding, Severity

ROW = 20  # refused steps in a row: a scaler finds its level, or a bad file ends, before that
TOTAL = 200  # in all: so many batches are not bad one by one


class RefusedTooOften(Detector):
    """So many steps were refused that the run learns nothing any more.

    ## Why it matters
    Refusing a step keeps one bad batch from ruining the weights. When nothing but such steps comes, the weights
    are safe and training stands still: the hours would be lost all the same.

    ## Usual causes
    The fault lies not in a batch but in the model, the loss or the precision: an operation that breaks for every
    input by now, weights that have grown too large, 16 bits that are too few.

    ## What to do
    Policy `protect` stops the run with exit code 3 and saves the last good weights. Repair the operation that
    is named, and resume from there.
    """

    card = Card("PM448", "refused-too-often", "numerics-nan", Severity.ERROR, explains=("update-refused",))
    listens = (NonFinite, StepRefused)

    def __init__(self) -> None:
        self._origin: NonFinite | None = None  # of what broke last

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, NonFinite):
            if self._origin is None or better(event, self._origin):
                self._origin = event
        elif isinstance(event, StepRefused):
            if event.row >= ROW or event.total >= TOTAL:
                self.over = True
                yield self._refused(event)

    def _refused(self, event: StepRefused) -> Finding:
        origin = self._origin if known(self._origin) else None
        how = f"the last {event.row} steps were" if event.row >= ROW else f"{event.total} steps were"
        return self.finding(
            event,
            f"{how} refused, because their updates were not finite ({event.made} were made){birth(origin)}",
            cause="What makes them lies in the model, the loss or the precision, not in one batch.",
            remedy="Repair what makes the values non-finite, and resume from the last good weights.",
            certainty=certainty(origin),
            parameter=(origin.parameter or None) if origin is not None else None,
            row=event.row,
            total=event.total,
            finite_steps=event.made,
            **blame(origin),
        )
