from premortem.detectors.base import THRICE, Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.printed import columns
from premortem.events import Backward, Event, Judged, LogLine, LossCall, OptimizerStep
from premortem.metric_words import EVALUATED, LOSSES, RECORDS, SCORES, TRAINED

CLOSE = 0.02  # relative; the last batch may be smaller than the others


class Mean:
    """Of a stretch of the run."""

    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1

    @property
    def value(self) -> float:
        return self.total / self.count if self.count else 0.0

    def agrees(self, printed: float) -> bool:
        return self.count > 0 and abs(printed - self.value) <= CLOSE * abs(self.value)


class TrainAndValOnDifferentScales(Detector):
    """The printed training loss was divided by the accumulation factor, and the validation loss was not.

    ## Why it matters
    The two curves cannot be compared: a gap of a factor of four looks like overfitting, and overfitting may hide in
    it.

    ## Usual causes
    `loss = criterion(...) / accumulation` for the backward pass, and that `loss.item()` is summed up for the log.

    ## What to do
    Log the loss before it is divided (or multiply it back).
    """

    card = Card("PM305", "train-and-val-on-different-scales", "eval-stale", Severity.WARNING)
    listens = (Backward, LossCall, Judged, OptimizerStep, LogLine)

    def __init__(self) -> None:
        self._scale: float | None = None
        self._scaled = Mean()  # what backward was called on
        self._whole = Mean()  # the same before it was divided
        self._validation = Mean()
        self._judged = Mean()  # likewise, by a criterion of the script's own
        self._summed = 0  # backward passes that the last step summed up

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Backward):
            if event.value is not None and event.scale and not event.scaled:
                self._backward(event.value, event.scale)
        elif isinstance(event, LossCall):
            if not event.grad and event.value is not None and event.reduction == "mean":
                self._validation.add(event.value)
        elif isinstance(event, Judged):
            self._judged.add(event.value)
        elif isinstance(event, OptimizerStep):
            self._summed = max(event.backwards, event.pending)
        elif isinstance(event, LogLine):
            yield from self._printed(event)

    def _backward(self, value: float, scale: float) -> None:
        if self._scale is not None and abs(scale - self._scale) > 1e-6 * scale:
            self.in_a_row("lines", again=False)
            self._scaled, self._whole = Mean(), Mean()
        self._scale = scale
        self._scaled.add(value)
        self._whole.add(value / scale)

    def _printed(self, event: LogLine) -> Findings:
        names = columns(event)
        losses = [
            (words, value)
            for words, (_, text, value) in zip(names, event.values, strict=True)
            if "." in text and words & (LOSSES | EVALUATED | TRAINED) and not words & (RECORDS | SCORES)
        ]
        train = [value for words, value in losses if not words & EVALUATED]
        held_out = [value for words, value in losses if words & EVALUATED]
        if not train or not held_out:
            return
        scaled, whole = self._scaled, self._whole
        undivided = self._validation.agrees(held_out[0]) or self._judged.agrees(held_out[0])
        self._scaled, self._whole, self._validation, self._judged = Mean(), Mean(), Mean(), Mean()
        # Divided by the number of micro-batches of a step, not by 2 because it is the mean of two terms.
        accumulates = self._summed > 1 and abs(self._summed * (self._scale or 0.0) - 1) < CLOSE
        divided = accumulates and scaled.agrees(train[0]) and not whole.agrees(train[0])
        if self.in_a_row("lines", divided and undivided) >= THRICE:
            yield self._found(event, train[0], whole.value, held_out[0])

    def _found(self, event: LogLine, printed: float, real: float, validation: float) -> Finding:
        factor = 1 / (self._scale or 1.0)
        return self.last_word(
            event,
            f"the training loss is printed divided by {factor:g} ({printed:.4g} for {real:.4g}), the validation loss "
            f"({validation:.4g}) is not",
            cause="The loss that was divided for gradient accumulation is the one that is logged, so the two numbers "
            "are on different scales.",
            remedy="Log the loss before the division.",
            certainty=Certainty.MEASURED,
            factor=factor,
        )
