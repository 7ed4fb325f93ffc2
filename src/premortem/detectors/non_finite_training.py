from collections.abc import Iterator

from premortem.cards import Card
from premortem.derived.certificate import advice, blame, certainty, sentence
from premortem.derived.failures import TrainingFailed
from premortem.detectors.base import NOT_FINITE, Detector
from premortem.detectors.non_finite_input import blamed
from premortem.detectors.overflow import overflowed_at_once
from premortem.detectors.shared.models import Models
from premortem.events import NonFinite
from premortem.findings import Finding, Severity


class NonFiniteTraining(Detector):
    """The loss is NaN or infinite and stays so.

    ## Why it matters
    The weights are lost: every later step trains nothing. In many dashboards a NaN is simply not drawn, and the curve
    looks as if it had gone flat.

    ## Usual causes
    The logarithm of 0, the root of a negative number, a division by 0, a mean over nothing; a gradient of `sqrt` or of a
    norm at 0; a learning rate at which the loss grows step by step; weights that were never initialised.

    ## What to do
    The message names the first broken link. Guard that operation (`clamp(min=eps)`, `log1p`, `x / (n + eps)`), and
    start again from weights that are finite.

    ## When it stays silent
    A range test that ends in NaN and restores its weights, steps refused by a gradient scaler, a sweep that tries a rate
    that is too high.
    """

    card = Card(
        code="PM442",
        name="non-finite-training",
        family="numerics-nan",
        severity=Severity.ERROR,
        explains=(
            "weights-stay-non-finite",
            "plateau-fed-non-finite",
            *NOT_FINITE,
            "dead-units",
            "poisoned-checkpoint",
            "scheduler-stepped-per-epoch",  # it was held back with the refused steps
        ),
        explains_later=("checkpoint-non-finite",),
        sudden=True,
    )
    uses = (Models,)
    listens = (TrainingFailed,)

    def observe(self, event: TrainingFailed) -> Iterator[Finding]:
        if not blamed(event) and not overflowed_at_once(event):
            yield self._diverged(event) if event.grew else self._broke(event)

    def _diverged(self, failure: TrainingFailed) -> Finding:
        return self.finding(
            failure,
            f"the loss diverged: it rose from {failure.start:.4g} to {failure.last:.4g} and then was not finite any more",
            cause="Each update overshot further than the one before. No single operation is to blame.",
            remedy="Lower the learning rate, clip the gradients, or scale inputs and targets.",
            family="exploding",
            step=failure.began,
            at=failure.origin.at if failure.origin is not None else None,
            start=failure.start,
            last=failure.last,
        )

    def _broke(self, failure: TrainingFailed) -> Finding:
        origin, first = failure.origin, failure.first
        before = f"; the loss was {failure.last:.4g} before" if failure.last is not None else ""
        if origin is not None:
            parameter, (how, cause) = origin.parameter, story(origin, graded=failure.graded)
        else:
            parameter = self.fact(Models).parameter(first.worst if first is not None else None)
            how = "the loss became NaN or infinite"
            cause = "Inputs were finite; it was born in the forward pass, or by gradients of the step before."
        return self.finding(
            failure,
            f"{how} (step {failure.began}{before}{'; it comes and goes since' if failure.returned else ''})",
            cause=cause,
            remedy=f"{advice(origin)}{'' if failure.spared else ' Then restart from weights that are finite.'}",
            step=failure.began,
            parameter=parameter or None,
            certainty=certainty(origin),
            first_step=failure.began,
            comes_and_goes=failure.returned or None,
            before=failure.last,
            **blame(origin),
        )


def story(origin: NonFinite, *, graded: bool) -> tuple[str, str]:
    """What happened, and why. Not `graded`: the gradients are finite all the same."""
    parameter = f"`{origin.parameter}`" if origin.parameter else ""
    if origin.stage == "backward":
        broke = f"backward gave {parameter or 'a parameter'} a gradient that was not"
        if not origin.detail:
            return f"the loss was finite, but {broke}", (
                "The forward pass was in order; a derivative is not defined there: sqrt or a norm at 0, a power "
                "below 1 at 0, 0 times an infinite branch of where()."
            )
        return f"the loss was finite, but {broke}: {sentence(origin)}", (
            "The forward pass was in order: this derivative is the first broken link."
        )
    if origin.stage == "update":
        return f"the update of {parameter or 'a parameter'} was not finite: {sentence(origin)}", (
            "The gradients were finite: the optimizer's own arithmetic is the first broken link."
        )
    if origin.stage == "weights":
        return f"{parameter or 'a weight'} was not finite before the loss was computed", (
            "The weights were already broken: by the step before, by a checkpoint, or from the start."
        )
    how = sentence(origin) if origin.detail else "an operation of the forward pass made NaN of finite numbers"
    cause = "Inputs and weights were finite: this operation is the first broken link."
    return (
        how,
        cause if graded else f"{cause} The gradients stay finite, because it was cut off on the way back.",
    )
