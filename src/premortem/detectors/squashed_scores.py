"""Losses that take raw scores, and are given what a softmax or a sigmoid has made of them."""

import math

from premortem.detectors.base import Card, Finding, Findings, Severity
from premortem.detectors.shared.loss_calls import NAMED, SQUASHED, TakesScores
from premortem.events import Event, GraphWalked, LossCall, Site

_BY_NUMBERS = 5  # calls, when only the numbers say that they are probabilities: a few may be so by chance
_FILLED = 50  # calls: chance alone does not keep so many raw outputs between 0 and 1
_EDGE = 0.02  # how near they come to 0 and to 1, which a scaled score would not
_SCORES = "binary_cross_entropy_with_logits multilabel_soft_margin_loss soft_margin_loss".split()


class SoftmaxBeforeCrossEntropy(TakesScores):
    """The network's output goes through softmax and is then given to cross-entropy, which applies it again.

    ## Why it matters
    Scores between 0 and 1 differ by 1 at most, so the second softmax is never sure of anything: the loss cannot
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
        "PM401",
        "softmax-before-cross-entropy",
        "loss-definition",
        Severity.ERROR,
        explains_here=("target-out-of-reach",),
    ).explaining(
        "updates-too-small",
        "vanishing-gradients",
        "saturated-activations",
        "uninformative-labels",
        "train-and-val-on-different-scales",
    )
    twice = frozenset({("LogSoftmax", "Softmax"), ("LogSoftmax", "Sigmoid"), ("Logsumexp", "Softmax")})

    def called(self, event: LossCall) -> Findings:
        if event.fn != "cross_entropy":
            return
        classes = event.input_shape[1] if len(event.input_shape) > 1 else event.input_shape[0]
        certain = event.input_op in SQUASHED
        if classes < 2 or (not certain and event.input_min is None):
            return
        calls = self.always(("probabilities", event.at), certain or probabilities(event))
        # The graph names the softmax; without a graph (evaluation) the numbers have to say it, several times.
        if calls < (NAMED if certain else _BY_NUMBERS):
            return
        floor = math.log(math.e + classes - 1) - 1
        what = event.input_op if certain else "something that turns scores into probabilities"
        yield self.last_word(
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
        return self.last_word(
            event,
            f"{upper.lower().replace('logsoftmax', 'log_softmax')} is applied to the output of {taken}: it takes "
            "probabilities for scores",
            cause="Scores between 0 and 1 hardly differ, so what is computed from them stays nearly uniform "
            "and the gradients flat.",
            remedy=f"Remove the {taken}: the loss needs raw scores.",
            upper=upper,
            lower=lower,
        )


class SigmoidBeforeBceWithLogits(TakesScores):
    """The network's output goes through sigmoid and is then given to a loss that applies sigmoid again.

    ## Why it matters
    Numbers between 0 and 1 become probabilities between 0.5 and 0.73: the model cannot predict "no", its loss stays high
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
        "PM402",
        "sigmoid-before-bce-with-logits",
        "loss-definition",
        Severity.ERROR,
        explains_here=("target-out-of-reach",),
    ).explaining("updates-too-small", "vanishing-gradients", "saturated-activations", "uninformative-labels")
    twice = frozenset(
        {("LogSigmoid", "Sigmoid"), ("LogSigmoid", "Softmax"), ("BinaryCrossEntropyWithLogits", "Sigmoid")}
    )

    def __init__(self) -> None:
        self._within: dict[Site | None, tuple[int, float, float]] = {}  # calls, smallest, largest so far

    def applied_twice(self, event: GraphWalked, upper: str, lower: str) -> Finding:
        return self._squashed(event, "a loss that takes raw scores", "sigmoid")

    def called(self, event: LossCall) -> Findings:
        if event.fn not in _SCORES or not event.grad:
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
        return self.last_word(
            event,
            f"{fn} is given the output of {op}, not raw scores: the model can only predict probabilities from 0.5 to 0.73",
            cause='The loss applies sigmoid itself. Applied twice, it never goes below 0.5, so no output means "no".',
            remedy=f"Remove the {op} and return raw scores, or use binary_cross_entropy on the probabilities.",
            fn=fn,
            input_op=op,
        )


def probabilities(event: LossCall) -> bool:
    if event.row_sum_error is None or event.input_min is None or event.input_max is None:
        return False
    return event.row_sum_error < 1e-4 and event.input_min >= 0 and event.input_max <= 1 + 1e-4
