"""Losses that are given something else than they take: probabilities, scores, labels of another kind."""

import re

from premortem.detectors.base import DIVERGING, FADING, Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.chance import BINARY
from premortem.detectors.shared.loss_calls import LOGARITHMS, JudgesLossCalls
from premortem.events import Event, LossCall, RunEnded

_OUT_OF_BOUNDS = re.compile(r"Target (-?\d+) is out of bounds")
_NOT_PROBABILITIES = "all elements of input should be between 0 and 1"
_PLUS_OR_MINUS_1 = frozenset({"soft_margin_loss", "hinge_embedding_loss"})


class NllWithoutLogProbabilities(JudgesLossCalls):
    """nll_loss is given something that is not log-probabilities.

    ## Why it matters
    nll_loss only picks the entry of the right class and turns its sign. With raw scores the loss falls without end: the
    model makes every score large and learns nothing about the other classes. With probabilities it is a weak loss
    between -1 and 0.

    ## Usual causes
    `nn.NLLLoss` in the place of `nn.CrossEntropyLoss`; a model that ends in softmax instead of log_softmax.

    ## What to do
    Use `cross_entropy` on raw scores, or end the model in `log_softmax(dim=1)`.
    """

    card = Card("PM403", "nll-without-log-probabilities", "loss-definition", Severity.ERROR).explaining(
        *DIVERGING, "loss-without-lower-bound", "wrong-sign"
    )

    def wrong(self, event: LossCall) -> str | None:
        if event.fn != "nll_loss" or not event.grad:
            return ""
        if event.row_logsumexp is None or event.input_max is None or event.input_min is None:
            return ""
        # Log-probabilities are not above 0, and their exponentials sum to one.
        too_large = event.row_logsumexp > (0.1 if event.input_max > 1e-3 else 1.0)
        if event.input_op in LOGARITHMS or not too_large:
            return None
        sums_to_one = event.row_sum_error is not None and event.row_sum_error < 1e-4 and event.input_min >= 0
        return "probabilities" if event.input_op == "softmax" or sums_to_one else "raw scores"

    def found(self, event: LossCall, wrong: str) -> Finding:
        return self.last_word(
            event,
            f"nll_loss is given {wrong}, not log-probabilities: values from {event.input_min:.3g} to "
            f"{event.input_max:.3g}, and the logarithm of a probability is never above 0",
            cause="nll_loss returns minus the entry of the right class and never looks at the other classes. Only "
            "log-probabilities tie the classes to each other.",
            remedy="Use F.cross_entropy on the raw scores, or apply F.log_softmax(..., dim=1) first.",
            input_min=event.input_min,
            input_max=event.input_max,
            logsumexp=event.row_logsumexp,
            input_op=event.input_op,
        )


class KlArguments(JudgesLossCalls):
    """kl_div is given probabilities where it wants their logarithms, or logarithms where it wants probabilities.

    ## Why it matters
    `F.kl_div(input, target)` wants log-probabilities first and probabilities second, the other way round from the
    formula. With anything else it still returns a number, often a negative one, and its gradient does not lead to the target.

    ## Usual causes
    Softmax instead of log_softmax on the student; the two arguments swapped; log-probabilities as the target without
    `log_target=True`, or probabilities with it; raw scores.

    ## What to do
    `F.kl_div(F.log_softmax(student, -1), F.softmax(teacher, -1), reduction="batchmean")`.

    ## When it stays silent
    The reverse divergence (the teacher's log-probabilities first, the student's probabilities second) is correct too.
    """

    card = Card("PM404", "kl-arguments", "loss-definition", Severity.ERROR).explaining(
        "loss-without-lower-bound", "exploding-gradients", "updates-too-small", "non-finite-training"
    )

    def wrong(self, event: LossCall) -> str:
        low, high = event.input_min, event.input_max
        target_low, target_high = event.target_min, event.target_max
        if event.fn != "kl_div" or not (event.grad or event.target_grad):
            return ""
        if low is None or high is None or target_low is None or target_high is None:
            return ""
        if event.input_op not in LOGARITHMS | {"logaddexp"} and high > 1e-3:
            if low >= 0 and high <= 1 + 1e-4:
                return "the input holds probabilities, not their logarithms"
            return f"the input holds raw scores (up to {high:.3g}), not log-probabilities, which are never above 0"
        if not event.log_target and target_low < -1e-3:
            return f"the target holds negative numbers (down to {target_low:.3g}): logarithms or raw scores, not probabilities"
        if event.log_target and target_low >= 0 and target_high > 1e-3:
            return "log_target=True, but the target holds probabilities, not their logarithms"
        return ""

    def found(self, event: LossCall, wrong: str) -> Finding:
        return self.last_word(
            event,
            f"kl_div: {wrong}",
            cause="kl_div(input, target) expects log-probabilities as input and probabilities as target. With anything "
            "else the number is not a divergence, and minimising it does not bring the two together.",
            remedy="F.kl_div(F.log_softmax(student, dim=-1), F.softmax(teacher, dim=-1), reduction='batchmean')",
            input_min=event.input_min,
            input_max=event.input_max,
            target_min=event.target_min,
            target_max=event.target_max,
            input_op=event.input_op,
        )


class SoftLabelsNoProbabilities(JudgesLossCalls):
    """cross_entropy is given soft labels that are not probabilities: some are negative or above one.

    ## Why it matters
    With a target of the same shape as the scores, cross_entropy multiplies the log-probability of each class by it. A
    negative label rewards the model for driving that class's probability to zero, so the loss has no lower bound and the
    scores grow for ever.

    ## Usual causes
    The teacher's raw scores as target, without softmax; class indices or pixel values converted to float; a one-hot
    tensor that was scaled or standardised along with the inputs.

    ## What to do
    Give probabilities (`softmax(teacher, dim=1)`, one-hot rows), or class indices as integers.

    ## When it stays silent
    Labels that are never negative are a note: with counts it is the likelihood of a multinomial distribution, whose lower bound is known.
    """

    card = Card("PM408", "soft-labels-no-probabilities", "loss-definition", Severity.ERROR).explaining(
        *DIVERGING, "loss-without-lower-bound", "wrong-sign"
    )

    def wrong(self, event: LossCall) -> str:
        low, high = event.target_min, event.target_max
        if event.target_sum_error is None or not event.grad or low is None or high is None:
            return ""
        return "" if low > -1e-3 and high < 1.05 else f"from {low:.3g} to {high:.3g}"

    def found(self, event: LossCall, wrong: str) -> Finding:
        counts = event.target_min is not None and event.target_min >= 0
        return self.last_word(
            event,
            f"cross_entropy is given soft labels {wrong}, which are not probabilities",
            cause="The loss multiplies each class's log-probability by its label. "
            + (
                "A row weighs as much as its labels sum up to, and class numbers would be taken for weights of the classes."
                if counts
                else "With negative labels it falls without end."
            ),
            remedy="Give probabilities that sum to one (softmax of the teacher's scores, one-hot), or integer classes."
            + (" Ignore this if they are counts." if counts else ""),
            severity=Severity.INFO if counts else None,
            certainty=Certainty.SUSPECTED if counts else Certainty.MEASURED,
            target_min=event.target_min,
            target_max=event.target_max,
            sum_error=event.target_sum_error,
        )


class SoftmaxOverOneClass(JudgesLossCalls):
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

    def wrong(self, event: LossCall) -> str:
        if not event.grad or not event.input_shape:
            return ""
        crossed = event.fn == "cross_entropy" and len(event.input_shape) > 1 and event.input_shape[1] == 1
        # Exactly certain, for every sample and from the first step on: there was nothing to choose from.
        certain = {"softmax": 1.0, "log_softmax": 0.0}.get(event.input_op)
        squashed = certain is not None and event.input_min == event.input_max == certain
        return event.fn if crossed or squashed else ""

    def found(self, event: LossCall, wrong: str) -> Finding:
        return self.last_word(
            event,
            f"{wrong} on a softmax over a single score (output shape {event.input_shape}): it is 1 for every input",
            cause="Softmax divides each score by the sum of all, and there is only one: the result, and so the loss, "
            "does not depend on the weights.",
            remedy="Use binary_cross_entropy_with_logits for one output, or give the last layer one output per class.",
            fn=wrong,
            input_shape=event.input_shape,
        )


class LabelsOutsideTheLoss(JudgesLossCalls):
    """The labels are numbers that the loss is not defined for.

    ## Why it matters
    Binary cross-entropy with a label of 2 or of -1 is smallest at a score of plus or minus infinity: the loss falls below
    zero without end. A margin loss with labels 0 and 1 instead of -1 and 1 ignores every 0.

    ## Usual causes
    Classes numbered from 1; masks with 255 for foreground; labels -1/1 given to binary cross-entropy, or 0/1 to a margin
    loss; labels standardised together with the inputs; negative counts in a Poisson loss.

    ## What to do
    Map the labels to what the loss wants, and look at `y.unique()` after loading.

    ## When it stays silent
    Noise around a label that is made on the spot (0.7 to 1.2 for real samples): on average such a loss has its minimum.
    """

    card = Card(
        "PM423", "labels-outside-the-loss", "data-labels", Severity.ERROR, explains_here=("unscaled-targets",)
    ).explaining(
        *DIVERGING, "loss-without-lower-bound", "wrong-sign", "uninformative-labels", "saturated-activations"
    )
    listens = (LossCall, RunEnded)

    def observe(self, event: Event) -> Findings:
        yield from super().observe(event)
        if isinstance(event, RunEnded) and event.reason == "crashed":
            if label := _OUT_OF_BOUNDS.search(event.message):
                yield self.finding(
                    event,
                    f"the run ended after {event.step} steps on a label of {label[1]}, for which the model has no output",
                    cause="Classes are numbered from 0, one for each output of the last layer.",
                    remedy="Number the classes from 0, and give the last layer one output for each of them.",
                    label=int(label[1]),
                )

    def wrong(self, event: LossCall) -> str:
        low, high, classes = event.target_min, event.target_max, set(event.classes or ())
        if not event.grad or event.target_grad or low is None or high is None:
            return ""
        if event.fn in BINARY and (low < -0.05 or high > 1.05):
            return "" if is_noisy(event) else "numbers from 0 to 1"
        if event.fn in _PLUS_OR_MINUS_1 and 0.0 in classes and classes <= {0.0, 1.0}:
            return "-1 and 1"
        return "counts, which are never negative" if event.fn == "poisson_nll_loss" and low < -1e-3 else ""

    def found(self, event: LossCall, wrong: str) -> Finding:
        labels = ", ".join(f"{label:g}" for label in sorted(event.classes or ())[:4])
        return self.last_word(
            event,
            f"{event.fn} is given labels {labels or f'{event.target_min:.3g} to {event.target_max:.3g}'}: it wants {wrong}",
            cause="For such labels the loss has no minimum, or does not depend on the prediction at all.",
            remedy=f"Map the labels to {wrong} where the data is read.",
            target_min=event.target_min,
            target_max=event.target_max,
            classes=event.classes,
        )


def is_noisy(event: LossCall) -> bool:
    """Many different numbers, of no data, that lie between 0 and 1 on average."""
    made = event.classes is None and not event.target_is_data and not event.target_is_input
    return made and event.target_mean is not None and 0 <= event.target_mean <= 1


class RawScoresInBce(Detector):
    """binary_cross_entropy was given numbers that are not probabilities, and the run ended there.

    ## Why it matters
    On the CPU it raises an error; on a GPU it ends in a failed assertion that names neither the line nor the cause.

    ## Usual causes
    `nn.BCELoss` on the output of a linear layer, without a sigmoid; an output that has become NaN.

    ## What to do
    Use `nn.BCEWithLogitsLoss` on raw scores, or apply `torch.sigmoid` before `nn.BCELoss`.
    """

    card = Card("PM410", "raw-scores-in-bce", "loss-definition", Severity.ERROR)
    listens = (RunEnded,)

    def observe(self, event: Event) -> Findings:
        if isinstance(event, RunEnded) and event.reason == "crashed" and _NOT_PROBABILITIES in event.message:
            yield self.finding(
                event,
                f"the run ended after {event.step} steps: binary_cross_entropy was given numbers outside 0 to 1",
                cause="It takes probabilities; the raw scores of a linear layer can be any number.",
                remedy="Use binary_cross_entropy_with_logits on the raw scores.",
            )
