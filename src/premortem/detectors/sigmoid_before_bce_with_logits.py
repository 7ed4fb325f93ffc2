"""PM402 sigmoid-before-bce-with-logits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.detectors.shared.scores import NAMED, SQUASHED, TakesScores
from premortem.events import Event, GraphWalked, LossCall, Site
from premortem.findings import Finding, Severity

_FILLED = 50  # calls: chance alone does not keep so many raw outputs between 0 and 1
_EDGE = 0.02  # so near to both ends they come, which a scaled score would not
_TAKING_SCORES = frozenset(
    {"binary_cross_entropy_with_logits", "multilabel_soft_margin_loss", "soft_margin_loss"}
)


class SigmoidBeforeBceWithLogits(TakesScores):
    """The network's output goes through sigmoid and is then given to a loss that applies sigmoid again.

    ## Why it matters
    Numbers between 0 and 1 become probabilities between 0.5 and 0.73: the network can never say no, its loss stays high
    and its gradients small.

    ## Usual causes
    `nn.Sigmoid` as the last layer together with `nn.BCEWithLogitsLoss`; `torch.sigmoid` in `forward` while the loss was
    changed from `BCELoss`.

    ## What to do
    Return raw scores, or use `nn.BCELoss`; the first is numerically safer.

    ## When it stays silent
    Scores that happen to lie between 0 and 1 for a while, as those of an untrained network do.
    """

    card = Card(
        code="PM402",
        name="sigmoid-before-bce-with-logits",
        family="loss-definition",
        severity=Severity.ERROR,
        explains=(
            "updates-too-small",
            "vanishing-gradients",
            "saturated-activations",
            "uninformative-labels",
        ),
        explains_here=("target-out-of-reach",),
    )
    twice: ClassVar[frozenset[tuple[str, str]]] = frozenset(
        {("LogSigmoid", "Sigmoid"), ("LogSigmoid", "Softmax"), ("BinaryCrossEntropyWithLogits", "Sigmoid")}
    )

    def __init__(self) -> None:
        self._within: dict[Site | None, tuple[int, float, float]] = {}  # calls, smallest, largest so far

    def applied_twice(self, event: GraphWalked, upper: str, lower: str) -> Finding:
        return self._squashed(event, "a loss that takes raw scores", "sigmoid")

    def called(self, event: LossCall) -> Iterator[Finding]:
        if event.fn not in _TAKING_SCORES or not event.grad:
            return
        if event.input_op in SQUASHED:
            if self.times(event.at) >= NAMED:
                yield self._squashed(event, event.fn, event.input_op)
        elif event.input_min is not None and event.input_max is not None:
            calls, low, high = self._within.get(event.at, (0, 1.0, 0.0))
            low, high = min(low, event.input_min), max(high, event.input_max)
            self._within[event.at] = (calls + 1, low, high)
            # Raw scores do not stop at 0 and at 1: numbers that fill the interval and never leave it were squashed.
            if calls + 1 >= _FILLED and 0 <= low < _EDGE and 1 - _EDGE < high <= 1:
                yield self._squashed(event, event.fn, "something that keeps it between 0 and 1")

    def _squashed(self, event: Event, fn: str, op: str) -> Finding:
        return self.finding(
            event,
            f"{fn} is given the output of {op}, not raw scores: it can only say probabilities from 0.5 to 0.73",
            cause="The loss applies sigmoid itself; applied twice, the answer no is out of reach.",
            remedy=f"Remove the {op} and return raw scores, or use binary_cross_entropy on the probabilities.",
            fn=fn,
            input_op=op,
        )
