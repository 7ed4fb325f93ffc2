"""PM445 overflow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.nonfinite import LISTENS, Episode
from premortem.events import Event, RunEnded
from premortem.findings import Finding, Severity

_EXPONENTIAL = frozenset({"Exp", "Exp2", "Expm1", "Cosh", "Sinh", "ToCopy"})


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

    card: ClassVar[Card] = Card(
        code="PM445",
        name="overflow",
        family="numerics-overflow",
        severity=Severity.ERROR,
        explains=(
            "non-finite-training",
            "weights-stay-non-finite",
            "plateau-fed-non-finite",
            "checkpoint-non-finite",
            "exploding-gradients",
            "metric-frozen",
            "raw-scores-in-bce",
            "update-refused",
            "refused-too-often",
        ),
    )
    listens: ClassVar[tuple[type[Event], ...]] = LISTENS

    def __init__(self) -> None:
        self._episode = Episode()

    def observe(self, event: Event) -> Iterator[Finding]:
        failure = self._episode.observe(event)
        if failure is not None and (origin := failure.origin) is not None and origin.overflow:
            if origin.op in _EXPONENTIAL or not failure.grew:
                before = f" from {failure.last:.4g}" if failure.last is not None else ""
                yield self.finding(
                    event,
                    f"the loss went{before} to {origin.value} in one step: {origin.detail or 'a number grew too large'}",
                    cause="Numbers that were finite grew beyond what their type can hold; they were not NaN before.",
                    remedy=advice(origin.op),
                    at=origin.at,
                    op=origin.op,
                    first_step=origin.step,
                )
        elif isinstance(event, RunEnded) and "without overflow" in event.message:
            yield self.finding(
                event,
                f"the run ended on a constant that does not fit its type: {event.message.splitlines()[0]}",
                cause="A number such as -1e9 has no place in half precision, whose largest number is 65504.",
                remedy="Use torch.finfo(x.dtype).min instead of a fixed number.",
            )


def advice(op: str) -> str:
    if op in _EXPONENTIAL:
        return "Use log_softmax, logsumexp or softplus instead of exp, or clamp what goes into it."
    return "Find what makes the numbers grow: use a stable form of the loss, scale the data, or a wider type."
