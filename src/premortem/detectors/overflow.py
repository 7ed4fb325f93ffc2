from collections.abc import Iterator

from premortem.cards import Card
from premortem.derived.certificate import EXPONENTIAL, advice, blame, certainty, sentence
from premortem.derived.failures import TrainingFailed
from premortem.detectors.base import NOT_FINITE, Detector
from premortem.events import Event, RunEnded
from premortem.findings import Finding, Severity


class Overflow(Detector):
    """Finite numbers became too large for their type: the loss turned infinite, then NaN.

    ## Why it matters
    exp(89) is infinite in 32 bits, exp(12) in 16. From there it is one subtraction or division to NaN, and one update to
    weights that are all NaN.

    ## Usual causes
    A softmax, log-sum-exp or log-likelihood written out with `exp`; `exp` of a predicted log-variance or log-rate without
    a bound; half precision without a gradient scaler; constants such as -1e9 in half precision.

    ## What to do
    Use the stable form (`log_softmax`, `logsumexp`, `softplus`), or clamp what goes into `exp`; in half precision use
    bfloat16 or a GradScaler, and `torch.finfo(x.dtype).min` for masks.

    ## When it stays silent
    A loss that grew step by step until it overflowed: that is divergence, and has another cause.
    """

    card = Card(
        "PM445",
        "overflow",
        "numerics-overflow",
        Severity.ERROR,
        explains=(
            "non-finite-training",
            "weights-stay-non-finite",
            "plateau-fed-non-finite",
            "exploding-gradients",
            *NOT_FINITE,
            "poisoned-checkpoint",
        ),
        explains_later=("checkpoint-non-finite",),
        sudden=True,
    )
    listens = (TrainingFailed, RunEnded)

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, TrainingFailed):
            origin = event.origin
            if origin is not None and overflowed_at_once(event):
                before = f" from {event.last:.4g}" if event.last is not None else ""
                went = f"the loss went{before} to {origin.value} in one step"
                yield self.finding(
                    event,
                    f"{went}: {sentence(origin) if origin.detail else 'a number grew too large'}",
                    cause="Numbers that were finite grew beyond what their type can hold; they were not NaN before.",
                    remedy=advice(origin),
                    step=event.began,
                    parameter=origin.parameter or None,
                    certainty=certainty(origin),
                    first_step=event.began,
                    before=event.last,
                    **blame(origin),
                )
        elif isinstance(event, RunEnded) and "without overflow" in event.message:
            yield self.finding(
                event,
                f"the run ended on a constant that does not fit its type: {event.message.splitlines()[0]}",
                cause="A number such as -1e9 has no place in half precision, whose largest number is 65504.",
                remedy="Use torch.finfo(x.dtype).min instead of a fixed number.",
            )


def overflowed_at_once(failure: TrainingFailed) -> bool:
    """Not a loss that grew step by step until it overflowed: that is divergence."""
    return failure.overflowed and (
        (failure.origin is not None and failure.origin.op in EXPONENTIAL) or not failure.grew
    )
