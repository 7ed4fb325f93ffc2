from __future__ import annotations

from premortem.detectors.base import FADING, THRICE, Card, Detector, Findings, Severity
from premortem.events import LossCall


class SoftmaxOverOneClass(Detector):
    """Softmax (or cross-entropy) over a single score: the answer is 1 whatever the score is.

    ## Why it matters
    A distribution over one class is always certain. The loss does not depend on the weights, all gradients are zero,
    and nothing is learned.

    ## Usual causes
    A network with one output unit for two classes, with `CrossEntropyLoss` or `nn.Softmax` where a sigmoid belongs.

    ## What to do
    One output and `BCEWithLogitsLoss`, or two outputs and `CrossEntropyLoss`.
    """

    card = Card(
        "PM409",
        "softmax-over-one-class",
        "loss-definition",
        Severity.ERROR,
        explains_here=(
            "softmax-before-cross-entropy",
            "sigmoid-before-bce-with-logits",
            "target-out-of-reach",
            "constant-labels",
        ),
    ).explaining(*FADING, "detached-from-loss")
    listens = (LossCall,)

    def observe(self, event: LossCall) -> Findings:
        if not event.grad or not event.input_shape:
            return
        crossed = event.fn == "cross_entropy" and len(event.input_shape) > 1 and event.input_shape[1] == 1
        # Exactly certain, for every sample and from the first step on: there was nothing to choose from.
        certain = {"softmax": 1.0, "log_softmax": 0.0}.get(event.input_op)
        squashed = certain is not None and event.input_min == event.input_max == certain
        if not (crossed or squashed):
            return
        if self.times(event.at) < THRICE:
            return
        self.over = True
        yield self.finding(
            event,
            f"{event.fn} on a softmax over a single score (output shape {event.input_shape}): it is 1 for every input",
            cause="Softmax divides each score by the sum of all, and there is only one: the result, and so the loss, "
            "does not depend on the weights.",
            remedy="Use binary_cross_entropy_with_logits for one output, or give the last layer one output per class.",
            fn=event.fn,
            input_shape=event.input_shape,
        )
