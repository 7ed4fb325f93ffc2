"""PM402 sigmoid-before-bce-with-logits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import Event, GraphWalked, LossCall, Site
from premortem.findings import Finding, Severity

_TAKING_SCORES = frozenset(
    {"binary_cross_entropy_with_logits", "multilabel_soft_margin_loss", "soft_margin_loss"}
)
_SQUASHED = frozenset({"sigmoid", "softmax", "hardsigmoid"})
_TWICE = frozenset(
    {("LogSigmoid", "Sigmoid"), ("LogSigmoid", "Softmax"), ("BinaryCrossEntropyWithLogits", "Sigmoid")}
)


class SigmoidBeforeBceWithLogits(Detector):
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

    card: ClassVar[Card] = Card(
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
    listens: ClassVar[tuple[type[Event], ...]] = (LossCall, GraphWalked)

    def __init__(self) -> None:
        self._named: dict[Site | None, int] = {}  # calls whose input a squashing function made
        self._within: dict[Site | None, tuple[int, float, float]] = {}  # calls, smallest, largest so far

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, LossCall) and event.fn in _TAKING_SCORES and event.grad:
            yield from self._call(event)
        elif isinstance(event, GraphWalked) and any(pair in _TWICE for pair in event.feeds):
            self._named[event.at] = self._named.get(event.at, 0) + 1
            if self._named[event.at] >= 3:
                yield self._said(event, "a loss that takes raw scores", "sigmoid")

    def _call(self, event: LossCall) -> Iterator[Finding]:
        if event.input_op in _SQUASHED:
            self._named[event.at] = self._named.get(event.at, 0) + 1
            if self._named[event.at] >= 2:
                yield self._said(event, event.fn, event.input_op)
        elif event.input_min is not None and event.input_max is not None:
            calls, low, high = self._within.get(event.at, (0, 1.0, 0.0))
            low, high = min(low, event.input_min), max(high, event.input_max)
            self._within[event.at] = (calls + 1, low, high)
            # Raw scores do not stop at 0 and at 1: numbers that fill the interval and never leave it were squashed.
            if calls + 1 >= 50 and 0 <= low < 0.02 and 0.98 < high <= 1:
                yield self._said(event, event.fn, "something that keeps it between 0 and 1")

    def _said(self, event: Event, fn: str, op: str) -> Finding:
        self.over = True
        return self.finding(
            event,
            f"{fn} is given the output of {op}, not raw scores: it can only say probabilities from 0.5 to 0.73",
            cause="The loss applies sigmoid itself; applied twice, the answer no is out of reach.",
            remedy=f"Remove the {op} and return raw scores, or use binary_cross_entropy on the probabilities.",
            fn=fn,
            input_op=op,
        )
