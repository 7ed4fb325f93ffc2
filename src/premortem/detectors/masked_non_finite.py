import math
from collections.abc import Iterator
from dataclasses import replace

from premortem.cards import Card
from premortem.derived.certificate import advice, certainty, evidence, sentence
from premortem.derived.failures import better
from premortem.detectors.base import NOT_FINITE, THRICE, TWICE, Detector
from premortem.detectors.shared.computed import Computed
from premortem.detectors.shared.models import Models
from premortem.events import (
    Backward,
    Event,
    Forward,
    GradTaken,
    LossCall,
    LossTested,
    Masked,
    NonFinite,
    NonFiniteLost,
    OptimizerBuilt,
    OptimizerStep,
    StepStats,
    ZeroGrad,
)
from premortem.findings import Finding, Severity

_SKIPPED = 20  # steps in a row that the script left out: some are what such a guard is for
_SHARE = 0.9  # of all values: a mask of padding or of rare gaps covers less
_HIDDEN = "Something replaces NaN before the loss is shown, so the failure does not show in it."
_BORN_BEHIND = "The loss itself is in order; its derivative is not, so the failure does not show in it."
_BY_HAND = "The script moves its weights itself, by gradients of a loss that is not finite: no weight that they reach stays finite."
_THROWN = "The script throws such steps away, so nothing is learnt from them, and the log looks healthy."


class MaskedNonFinite(Detector):
    """NaN or infinity is hidden instead of repaired: the loss looks finite while the training is broken.

    ## Why it matters
    `nan_to_num`, a `where(isnan(...))`, gradients set to zero or batches skipped on NaN turn a loud failure into a silent
    one. The forward pass shows zeros, the backward pass still multiplies with NaN, the weights are lost, and the log shows
    a loss that has merely stopped falling.

    ## Usual causes
    A quick repair after the first NaN was seen: `nan_to_num(output)`, `nanmean(loss)`, `p.grad[p.grad.isnan()] = 0`,
    `if torch.isnan(loss): continue`.

    ## What to do
    Remove the mask, let it fail, and repair what makes the NaN (the message names it where the graph tells).

    ## When it stays silent
    Missing values in the data that are filled in before the model sees them, and masked rows whose gradients stay finite.
    """

    card = Card(
        "PM443",
        "masked-non-finite",
        "numerics-masked",
        Severity.ERROR,
        explains=(
            "non-finite-input",
            "non-finite-training",
            "weights-stay-non-finite",
            "overflow",
            *NOT_FINITE,
            "plateau-fed-non-finite",
            "evaluated-copy-never-changes",
            "updates-too-small",
            "dead-units",
            "vanishing-gradients",
            "exploding-gradients",
            "step-never-called",
            "gradients-thrown-away",
            "gradients-cleared-before-step",
            "loss-without-graph",
            "detached-from-loss",
            "step-without-new-gradients",
            "uninformative-labels",
            "poisoned-checkpoint",
        ),
        explains_later=("checkpoint-non-finite",),
    )
    uses = (Models, Computed)
    listens = (
        Masked,
        StepStats,
        OptimizerStep,
        Backward,
        ZeroGrad,
        LossCall,
        LossTested,
        NonFinite,
        OptimizerBuilt,
        NonFiniteLost,
        Forward,
        GradTaken,
    )

    def __init__(self) -> None:
        self._mask: Masked | None = None  # the first that hid values of the model
        self._first: int | None = None  # step in which something was not finite
        self._hidden: dict[int, int] = {}  # optimizer -> steps with a finite loss and broken gradients
        self._dirty: tuple[
            int, ...
        ] = ()  # whose gradients backward left broken, and the script has not cleared them
        self._cleaned = 0  # ... and the step found them clean
        self._sanitised: set[int] = set()  # steps in which nan_to_num was used on gradients
        self._whole: set[int] = set()  # steps in which nearly all of an output was masked
        self._replaced = 0
        self._skipped = 0  # losses in a row that were not finite and not used
        self._tested = 0  # ... which the script has asked about
        self._taken = (
            0  # ... of which `autograd.grad` took gradients, for weights that the script moves by itself
        )
        self._unused = 0  # backward passes in a row that left broken gradients which no step used
        self._waiting = ""  # what is not finite and may yet be used: "loss" or "gradients"
        self._dropped = 0  # batches that were left out because of it, in all,
        self._fresh = 0  # ... since the last backward pass: that may yet use them,
        self._why: NonFinite | None = None  # ... and what made it
        self._what = ""
        self._moved_on = False  # a model was called since such a loss was seen
        self._elsewhere = (
            0  # losses that were not finite since the last step, whose gradients an engine holds
        )
        self._lost = 0  # steps in which an overflow became 0
        self._origin: NonFinite | None = None
        self._seen: NonFinite | None = None  # seen at work last, though the run got over it

    def observe(self, event: Event) -> Iterator[Finding]:
        if self._first is None and isinstance(event, (Masked, NonFinite)):
            self._first = event.step + 1
        if isinstance(event, Masked):
            yield from self._masked(event)
        elif isinstance(event, Backward):
            yield from self._went_back(event)
            if event.grads_finite is not None:  # a scaler sees to what is too large for its scale
                self._dirty = () if event.grads_finite or event.scaled else event.optimizers
        elif isinstance(event, ZeroGrad):
            self._dirty = ()
            if self._waiting == "gradients":
                self._dropping()
        elif isinstance(event, NonFinite):
            if self._origin is None or better(event, self._origin):
                self._origin = event
            if better(event, None):
                self._seen = event
        elif isinstance(event, OptimizerBuilt):
            if not event.again:
                self._seen = None
        elif isinstance(event, OptimizerStep):
            yield from self._guarded(event)
        elif isinstance(event, NonFiniteLost):
            yield from self._losing(event)
        elif isinstance(event, GradTaken):
            self._taken = max(self._skipped, self._tested)
        elif isinstance(event, Forward):
            if event.grad and (self._tested or self._skipped or self._waiting):
                self._moved_on = True
                if self._waiting == "loss":  # the next batch, and the last one's loss was sent nowhere
                    self._dropping()
        elif isinstance(event, LossCall):
            self._moved_on = False
            if event.grad and event.value is not None:
                self._skipped = 0 if math.isfinite(event.value) else self._skipped + 1
                yield from self._compared(event, self._skipped)
        elif isinstance(event, LossTested):
            self._tested = 0 if math.isfinite(event.value) else self._tested + 1
            yield from self._compared(event, self._tested)
            self._moved_on = False
            self._waiting = "" if math.isfinite(event.value) else "loss"
        elif isinstance(event, StepStats):
            yield from self._stepped(event)

    def _masked(self, event: Masked) -> Iterator[Finding]:
        if event.gradient:
            self._mask = self._mask or event
            self._remember()
            self._sanitised.add(event.step)
            if len(self._sanitised) >= THRICE:
                yield self._said(
                    event,
                    f"{event.op} replaced NaN or infinite gradients in {len(self._sanitised)} steps",
                    mask=event,
                )
        elif event.grad:
            if self._mask is None or (not self._mask.origin and event.origin):
                self._mask = event
            if event.count >= _SHARE * event.total:
                self._whole.add(event.step)
                if len(self._whole) >= 2 * THRICE:
                    yield self._said(
                        event,
                        f"{event.op} replaced {event.count} of {event.total} values the model computed",
                        mask=event,
                    )

    def _stepped(self, event: StepStats) -> Iterator[Finding]:
        finite = event.loss is None or math.isfinite(event.loss)
        broken = event.worst is not None
        # Of several that a pass has reached, another one's may be the broken ones.
        if self._dirty == (event.optimizer,) and not broken and event.weights_finite:
            self._cleaned += 1
            self._dirty = ()
            if self._cleaned >= THRICE:
                yield self._said(
                    event,
                    f"NaN gradients were wiped out between backward and step, {self._cleaned} times so far",
                    wiped=True,
                )
                return
        elsewhere, self._elsewhere = self._elsewhere, 0
        if elsewhere and not broken and event.weights_finite:  # a sum with them would not be finite
            self._dropped, self._what = self._dropped + elsewhere, "loss"
            self._remember()
            yield from self._guarded(event)
        if not (finite and broken and event.loss is not None):
            self._hidden.pop(event.optimizer, None)
            return
        count = self._hidden[event.optimizer] = self._hidden.get(event.optimizer, 0) + 1
        if count >= THRICE and not (event.weights_finite and self._mask is None and not self._dirty):
            parameter = self.fact(Models).parameter(event.worst)
            self._recall()
            yield self._said(
                event,
                f"the loss is finite ({event.loss:.4g}), but the gradient of {parameter or 'a parameter'} has been "
                f"NaN or infinite for {count} steps",
                mask=self._mask,
                parameter=parameter,
            )

    def _recall(self) -> None:
        """It comes and goes, and this time the script did not look: the loss is finite again and backward broke again."""
        vague = self._origin is None or (self._origin.stage == "backward" and not self._origin.detail)
        if vague and self._dirty and self._seen is not None and self._seen.stage == "backward":
            self._origin = self._seen

    def _went_back(self, event: Backward) -> Iterator[Finding]:
        """A loss that was not finite, and backward on something that is: it was replaced, or belongs to the next batch."""
        # Broken gradients that were not cleared are still there when more is added to them: accumulation drops nothing.
        if self._waiting == "gradients" and event.grads_finite:
            self._dropping()
        replaced = (self._skipped or self._tested) and not self._moved_on
        if replaced and event.value is not None and math.isfinite(event.value):
            self._replaced += 1
            if self._replaced >= 2 * THRICE:
                yield self._said(
                    event,
                    f"a loss that was not finite was replaced by {event.value:.4g} before backward, {self._replaced} times",
                )
        self._skipped = self._tested = 0
        if event.grads_finite and event.value is not None and math.isfinite(event.value):
            self._origin = None  # that is over
        broken = event.grads_finite is False or (event.value is not None and not math.isfinite(event.value))
        if event.value is not None and not math.isfinite(event.value):
            self._dropped -= self._fresh  # a loss of several calls, of which some were not finite
            if event.grads_finite is None and not (event.optimizers or event.scaled or event.error):
                self._elsewhere += 1
        self._fresh = 0
        self._unused = self._unused + 1 if broken and not event.scaled and not event.error else 0
        self._waiting = "gradients" if broken and not event.scaled and not event.error else ""
        if self._unused >= _SKIPPED:
            yield self._said(
                event,
                f"{self._unused} batches in a row gave gradients that are not finite and were skipped",
                skips=True,
            )

    def _dropping(self) -> None:
        what, self._waiting = self._waiting, ""
        self._dropped += 1
        self._fresh += what == "loss"
        self._what = what
        self._remember()

    def _remember(self) -> None:
        """What made it: the pass that comes next is sound, and would make it forgotten."""
        origin = self._origin
        if origin is not None and (origin.detail or origin.stage == "data"):
            if self._why is None or better(origin, self._why):
                self._why = origin

    def _guarded(self, event: Event) -> Iterator[Finding]:
        """A batch here and there that the script leaves out: its guard works, and what it guards against is a fault."""
        self._unused, self._waiting = 0, ""
        if self._dropped >= THRICE and self._why is not None:
            self._origin = self._why
            gave = "a loss that is" if self._what == "loss" else "gradients that are"
            message = f"{self._dropped} batches gave {gave} not finite, and the script left them out"
            yield replace(self._said(event, message, skips=True), severity=Severity.WARNING)

    def _losing(self, event: NonFiniteLost) -> Iterator[Finding]:
        self._lost += 1
        if self._lost >= TWICE:
            self.over = True
            origin = event.origin
            divided = event.by == "div"
            left = event.by in ("index", "masked_select")
            replaced = "a mask left it out" if left else f"`{event.by}` replaced it"
            how = "a division made 0 of it" if divided else replaced
            yield self.finding(
                event,
                f"{sentence(origin)}, and {how}: loss and gradients look sound",
                cause="What was divided by it is 0 for those samples, so they teach nothing, and nothing shows it."
                if divided
                else "Those values are not what the code computes for all others, and nothing shows it.",
                remedy=advice(origin),
                at=origin.at,
                module=origin.module or None,
                severity=Severity.WARNING,
                certainty=certainty(origin),
                family="numerics-overflow" if divided else None,
                masked_by=None if divided else event.by,
                **evidence(origin),
            )

    def _compared(self, event: Event, row: int) -> Iterator[Finding]:
        """`if torch.isnan(loss): continue`, again and again."""
        if row >= _SKIPPED:
            by_hand = self._taken >= row - 1  # the last one may yet be
            went = ", and `autograd.grad` took gradients of each" if by_hand else " and were skipped"
            yield self._said(
                event,
                f"{row} batches in a row gave a loss that is not finite{went}",
                skips=not by_hand,
                by_hand=by_hand,
            )

    def _said(
        self,
        event: Event,
        message: str,
        mask: Masked | None = None,
        parameter: str = "",
        *,
        skips: bool = False,
        wiped: bool = False,
        by_hand: bool = False,
    ) -> Finding:
        self.over = True
        mask = self._mask if self._mask is not None and self._mask.origin else mask or self._mask
        where = (
            f" It is hidden by `{mask.op}` ({mask.count} of {mask.total} values at first)."
            if mask is not None
            else ""
        )
        origin = self._origin
        if origin is None or not (origin.detail or origin.stage == "data"):
            origin = self._why
        if origin is not None and (born := self.fact(Computed).explains(origin)) is not None:
            origin = born
        bearer = sentence(origin) if origin is not None else mask.origin if mask is not None else ""
        birth = f" It came from here: {bearer}." if bearer else ""
        # Nothing hides it when it was born on the way back.
        behind = mask is None and not (skips or wiped) and origin is not None and origin.stage == "backward"
        hidden = _BORN_BEHIND if behind else _BY_HAND if by_hand else _THROWN if skips else _HIDDEN
        # The line to blame is the origin; who hides it comes second.
        blamed = origin.at if origin is not None and origin.located else mask.at if mask is not None else None
        blamed = blamed or (origin.at if origin is not None else None)
        return self.finding(
            event,
            message,
            cause=f"{hidden}{where}{birth}",
            remedy=f"{advice(origin)} Until it is found, make no update of such a gradient."
            if by_hand
            else self._remedy(origin, behind=behind, skips=skips and mask is None),
            step=max(event.step, self._first or 0),  # never before the first
            family="numerics-nan" if behind or by_hand else None,
            at=blamed,
            module=(origin.module or None) if origin is not None and mask is None else None,
            parameter=parameter or None,
            certainty=certainty(origin),
            **evidence(origin),
            masked_at=str(mask.at)
            if mask is not None and mask.at is not None and mask.at != blamed
            else None,
            origin=bearer or None,
            masked_by=mask.op if mask is not None else None,
            first_step=self._first,
        )

    def _remedy(self, origin: NonFinite | None, *, behind: bool, skips: bool) -> str:
        if behind:
            return "Keep the operand away from where it has no derivative: add a small number before the operation."
        if skips:
            return f"{advice(origin)} To leave such batches out only hides it."
        return "Remove the mask and repair what makes the NaN; masking does not keep it out of the gradients."
