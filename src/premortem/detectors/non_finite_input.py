"""PM441 non-finite-input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.nonfinite import LISTENS, Episode, Failure
from premortem.events import Event
from premortem.findings import Finding, Severity

_WORDS = {
    "input": "the input",
    "target": "the target",
    "batch": "a tensor of the batch",
    "constant": "a constant",
}


class NonFiniteInput(Detector):
    """The data itself holds NaN or infinity, and the training broke on it.

    ## Why it matters
    One such number makes the loss NaN, the next update makes every weight NaN, and nothing after that means anything.

    ## Usual causes
    An empty field in a table (read as NaN); a division by the standard deviation of a constant column; the logarithm of
    a zero count; a sensor's "no value" marker.

    ## What to do
    Find the rows with `torch.isfinite(x).all(dim=1)`, then drop or impute them where the data is read.

    ## When it stays silent
    Missing values that the script handles itself, so that the loss stays finite.
    """

    card: ClassVar[Card] = Card(
        code="PM441",
        name="non-finite-input",
        family="numerics-nan",
        severity=Severity.ERROR,
        explains=(
            "non-finite-training",
            "weights-stay-non-finite",
            "overflow",
            "plateau-fed-non-finite",
            "checkpoint-non-finite",
            "metric-frozen",
            "raw-scores-in-bce",
            "update-refused",
            "refused-too-often",
            "unnormalised-inputs",
            "exploding-gradients",
            "dead-units",
            "saturated-activations",
        ),
    )
    listens: ClassVar[tuple[type[Event], ...]] = LISTENS

    def __init__(self) -> None:
        self._episode = Episode()

    def observe(self, event: Event) -> Iterator[Finding]:
        failure = self._episode.observe(event)
        if failure is not None and (what := blamed(failure)):
            origin = failure.origin
            rows = origin.rows if origin is not None else ()
            place = f" (row {', '.join(map(str, rows))} of its batch)" if rows else ""
            step = origin.step if origin is not None else failure.first.step if failure.first else event.step
            yield self.finding(
                event,
                f"{what} holds NaN or infinity{place}: the loss has not been finite since step {step}",
                cause="Model and weights were in order before; the numbers that broke the run came in with the data.",
                remedy="Check the data with torch.isfinite where it is read, and drop or impute the bad rows.",
                at=origin.at if origin is not None else None,
                first_step=step,
                rows=rows,
            )


def blamed(failure: Failure) -> str:
    if failure.origin is not None:
        what = failure.origin.what
        return _WORDS.get(what, f"`{what}`") if failure.origin.stage == "data" else ""
    # On a GPU only the sum of the inputs is known.
    return "the input" if failure.first is not None and not failure.first.input_finite else ""
