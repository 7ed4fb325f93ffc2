from collections.abc import Iterator

from premortem.cards import Card
from premortem.derived.certificate import blame, certainty, data, samples, sentence
from premortem.derived.failures import TrainingFailed
from premortem.detectors.base import NOT_FINITE, Detector
from premortem.detectors.shared.computed import Computed
from premortem.findings import Finding, Severity

_DATA = "Model and weights were in order before; the numbers that broke the run came in with the data."
_CONSTANT = "Model, weights and data were in order; a number that the script computes itself was not."


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

    card = Card(
        "PM441",
        "non-finite-input",
        "numerics-nan",
        Severity.ERROR,
        explains=(
            "non-finite-training",
            "weights-stay-non-finite",
            "overflow",
            "plateau-fed-non-finite",
            *NOT_FINITE,
            "unnormalised-inputs",
            "exploding-gradients",
            "dead-units",
            "saturated-activations",
        ),
        explains_later=("checkpoint-non-finite",),
        sudden=True,
    )
    uses = (Computed,)
    listens = (TrainingFailed,)

    def observe(self, event: TrainingFailed) -> Iterator[Finding]:
        what = blamed(event)
        if not what:
            return
        origin = held = event.origin
        if held is not None and (born := self.fact(Computed).explains(held)) is not None:
            origin = born
        place = f" ({samples(origin)})" if origin is not None and origin.rows else ""
        use = f", first used at {held.at}" if held is not None and held.located else ""
        constant = held is not None and held.what == "constant"
        made = f" ({sentence(origin)})" if origin is not None and origin is not held else ""
        yield self.finding(
            event,
            f"{what} holds NaN or infinity{place}{use}: the loss has not been finite since step {event.began}{made}",
            cause=_CONSTANT if constant else _DATA,
            remedy="Print the number where it is computed: a weight, a schedule or a scale that has left its range."
            if constant
            else "Check the data with torch.isfinite where it is read, and drop or impute the bad rows.",
            step=event.began,
            certainty=certainty(origin),
            first_step=event.began,
            before=event.last,
            **blame(origin),
        )


def blamed(failure: TrainingFailed) -> str:
    if failure.origin is not None:
        return data(failure.origin) if failure.origin.stage == "data" else ""
    # On a GPU only the sum of the inputs is known.
    return "the input" if failure.first is not None and not failure.first.input_finite else ""
