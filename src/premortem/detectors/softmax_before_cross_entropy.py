"""PM401 softmax-before-cross-entropy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.detectors.shared.scores import NAMED, SQUASHED, TakesScores
from premortem.events import GraphWalked, LossCall, Site
from premortem.findings import Finding, Severity

_BY_NUMBERS = 5  # calls, when only the numbers say that they are probabilities: a few may be so by chance


class SoftmaxBeforeCrossEntropy(TakesScores):
    """The network's output goes through softmax and is then given to cross-entropy, which applies it again.

    ## Why it matters
    Scores between 0 and 1 can differ by 1 at most, so the second softmax never gets sure of anything: the loss cannot
    fall below ln(e + C - 1) - 1 for C classes (1.46 for ten), gradients are flat, and the network learns slowly or
    stops half-way. Nothing crashes and the accuracy still rises, which is why it goes unnoticed.

    ## Usual causes
    `nn.Softmax` as the last layer together with `nn.CrossEntropyLoss`; `F.softmax` in `forward` because another
    framework wants it there; `torch.sigmoid` before cross-entropy; `Categorical(logits=probabilities)`.

    ## What to do
    Return raw scores and apply softmax only where probabilities are shown. If the model must return probabilities,
    train it with `F.nll_loss(torch.log(p + 1e-9), y)`.

    ## When it stays silent
    log_softmax before cross-entropy changes nothing and is not reported, nor are softmaxes inside the network
    (attention, gating).
    """

    card = Card(
        code="PM401",
        name="softmax-before-cross-entropy",
        family="loss-definition",
        severity=Severity.ERROR,
        explains=(
            "updates-too-small",
            "vanishing-gradients",
            "saturated-activations",
            "uninformative-labels",
            "train-and-val-on-different-scales",
        ),
        explains_here=("target-out-of-reach",),
    )
    twice: ClassVar[frozenset[tuple[str, str]]] = frozenset(
        {("LogSoftmax", "Softmax"), ("LogSoftmax", "Sigmoid"), ("Logsumexp", "Softmax")}
    )

    def __init__(self) -> None:
        self._clear: set[Site | None] = set()  # lines that were given something else

    def called(self, event: LossCall) -> Iterator[Finding]:
        if event.fn != "cross_entropy":
            return
        classes = event.input_shape[1] if len(event.input_shape) > 1 else event.input_shape[0]
        if classes < 2 or event.at in self._clear:
            return
        certain = event.input_op in SQUASHED
        if not certain and event.input_min is None:
            return
        if not certain and not probabilities(event):
            self._clear.add(event.at)
            return
        calls = self.times(event.at)
        # The graph names the softmax; without a graph (evaluation) the numbers have to say it, several times.
        if calls < (NAMED if certain else _BY_NUMBERS):
            return
        floor = math.log(math.e + classes - 1) - 1
        what = event.input_op if certain else "something that turns scores into probabilities"
        yield self.finding(
            event,
            f"cross_entropy is given the output of {what}, not raw scores: "
            f"with {classes} classes the loss cannot fall below {floor:.2f}",
            cause="cross_entropy applies log-softmax itself. On numbers between 0 and 1 that flattens the "
            "differences it is meant to sharpen, and the gradients with them.",
            remedy=f"Remove the {event.input_op or 'softmax'} and return raw scores; apply it only to show probabilities."
            if event.grad
            else "Compute the loss from the raw scores, as in training, and the probabilities separately.",
            severity=Severity.ERROR if event.grad else Severity.WARNING,
            classes=classes,
            floor=round(floor, 4),
            input_op=event.input_op,
            input_min=event.input_min,
            input_max=event.input_max,
            calls=calls,
        )

    def applied_twice(self, event: GraphWalked, upper: str, lower: str) -> Finding:
        taken = lower.lower()
        return self.finding(
            event,
            f"{upper.lower().replace('logsoftmax', 'log_softmax')} is applied to the output of {taken}: probabilities are "
            f"taken for scores",
            cause="Scores between 0 and 1 can hardly differ, so what is computed from them stays nearly uniform "
            "and the gradients flat.",
            remedy=f"Remove the {taken}: the loss needs raw scores.",
            upper=upper,
            lower=lower,
        )


def probabilities(event: LossCall) -> bool:
    return (
        event.row_sum_error is not None
        and event.input_min is not None
        and event.input_max is not None
        and event.row_sum_error < 1e-4
        and event.input_min >= 0
        and event.input_max <= 1 + 1e-4
    )
