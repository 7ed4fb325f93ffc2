"""`zero_grad`, `backward` and `step` in an order that does not train."""

from premortem.amounts import count
from premortem.derived.windows import STEPPED, WindowEnded
from premortem.detectors.base import (
    DIVERGING,
    FADING,
    STILL,
    THRICE,
    TOO_LARGE,
    TWICE,
    Card,
    Detector,
    Findings,
    Severity,
)
from premortem.detectors.shared.models import Models
from premortem.detectors.shared.optimizers import Optimizers
from premortem.events import (
    Backward,
    Clip,
    EpochEnded,
    EpochStarted,
    Event,
    Forward,
    LogLine,
    NonFinite,
    OptimizerStep,
    Site,
    ZeroGrad,
)
from premortem.metric_words import EPOCHS


class GradientsClearedBeforeStep(Detector):
    """Gradients are cleared after `backward()` and before `step()`.

    ## Why it matters
    `step()` finds no gradients (or zeros) and changes nothing, except for weight decay and old momentum.

    ## Usual causes
    - `zero_grad()` between `backward()` and `step()`
    - `step()` before `backward()` in the loop, with `zero_grad()` first
    - a callback or helper that "cleans up" after the backward pass

    ## What to do
    `zero_grad()`, forward, `backward()`, `step()`, in this order.

    ## When it stays silent
    When `zero_grad()` was not called and the run has met NaN: a helper that replaces NaN by 0 empties gradients too.
    """

    card = Card("PM121", "gradients-cleared-before-step", "update-order", Severity.ERROR).explaining(
        *FADING,
        "gradients-thrown-away",
        "gradients-never-cleared",
        "step-without-new-gradients",
        "detached-from-loss",
        "evaluated-copy-never-changes",
        "uninformative-labels",
        "clipped-after-step",
        "weight-decay-collapse",
    )
    listens = (ZeroGrad, OptimizerStep, NonFinite, Clip)

    def __init__(self) -> None:
        self._cleared_at: dict[int, Site | None] = {}
        self._masked = False  # perhaps: something was not finite, or was clipped to 0

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ZeroGrad):
            self._cleared_at.update(dict.fromkeys(event.wasted, event.at))
        elif isinstance(event, NonFinite) or (isinstance(event, Clip) and not event.limit):
            self._masked = True
        elif isinstance(event, OptimizerStep):
            key = event.optimizer
            steps = self.in_a_row(key, event.emptied)
            at = self._cleared_at.get(key)
            if steps == TWICE and (at or not self._masked) and self.once(key):
                where = f"`zero_grad()` at line {at.line}" if at is not None else "something"
                yield self.finding(
                    event,
                    f"{where} clears the gradients between backward() and step(): {event.kind} has nothing to step on",
                    cause="every step is made without the gradients that backward() has just computed",
                    remedy="clear the gradients before backward(), or after step()",
                    at=at,
                    steps=steps,
                )
            self._cleared_at.pop(key, None)


class BackwardNeverCalled(Detector):
    """The optimizer steps, and nothing has computed a gradient: `backward()` is never called.

    ## Why it matters
    `step()` skips every parameter without a gradient, and says nothing. The weights stay as they were initialised, while
    the loss of each batch still wanders, so the log looks alive.

    ## Usual causes
    - `loss.backward()` was lost when the loop was rewritten, or stands in a branch that is never taken
    - it stands behind an early `continue`

    ## What to do
    Call `loss.backward()` before `optimizer.step()`.

    ## When it stays silent
    When a backward pass came since the last step of any optimizer, when the script writes gradients itself, when a closure makes
    them, and when the model was not called with gradients on: evolution strategies, a loop that only counts its schedule.
    """

    card = Card("PM128", "backward-never-called", "update-order", Severity.ERROR).explaining(
        *STILL,
        "step-without-new-gradients",
        "evaluated-copy-never-changes",
        "uninformative-labels",
        "clipped-after-step",
        "scheduler-before-optimizer",
        "generator-gets-no-gradient",
        "gradients-thrown-away",
        "parameter-without-optimizer",
        "optimizer-holds-other-parameters",
    )
    uses = (Models, Optimizers)
    listens = (Backward, Forward, OptimizerStep)

    def __init__(self) -> None:
        self._called: set[int] = set()  # models, for training, since the last step
        self._backward = False  # since the last step
        self._ever = False  # since the run began
        self._trained: set[int] = set()  # optimizers for whom it was called

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Backward):
            self._backward = self._ever = True
            self._trained.update(event.optimizers)
        elif isinstance(event, Forward):
            if event.grad and event.training:
                self._called.add(event.model)
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)
            self._called.clear()
            self._backward = False

    def _stepped(self, event: OptimizerStep) -> Findings:
        nothing = not (event.with_grad or event.backwards or event.touched or event.closure or self._backward)
        idle = bool(event.optimizer and event.parameters and nothing and self._ran(event.optimizer))
        again = idle and event.optimizer not in self._trained
        if self.in_a_row(event.optimizer, again) == THRICE and self.once(event.optimizer):
            yield self.finding(
                event,
                f"{event.kind} has made {THRICE} steps, and none of its {count(event.parameters, 'parameter')} has "
                "ever had a gradient",
                cause="backward() is called for another optimizer's loss, and not for the one of what this one holds"
                if self._ever
                else "backward() was not called since the run began",
                remedy="call loss.backward() before optimizer.step()",
                parameters=event.parameters,
            )

    def _ran(self, optimizer: int) -> bool:
        """Whether a model was called that this optimizer is to train; any one, as long as no other one is trained."""
        held, seen = self.fact(Optimizers).held(optimizer), self.fact(Models).seen
        mine = {
            key for key in self._called if key in seen and any(p.key in held for p in seen[key].parameters)
        }
        return bool(mine or (self._called and not self._ever))


class GradientsNeverCleared(Detector):
    """Each step adds to the gradients that earlier steps have already used.

    ## Why it matters
    `backward()` adds. Without clearing, a step uses the sum of all gradients since the start: old directions
    never leave, the updates grow, and training wanders or diverges.

    ## Usual causes
    - `zero_grad()` is missing
    - `zero_grad()` stands outside the batch loop, once per epoch
    - it is called on another optimizer or another model than the one that is stepped

    ## What to do
    Call `optimizer.zero_grad()` once for every `step()`.

    ## When it stays silent
    When gradients are accumulated between two steps, and when they are cleared by hand (`p.grad = None`).
    """

    card = Card("PM122", "gradients-never-cleared", "update-order", Severity.ERROR).explaining(
        *TOO_LARGE,
        "clipped-hard-every-step",
        "non-finite-training",
        "accumulation-not-divided",
        "accumulation-window-broken",
    )
    listens = (ZeroGrad, OptimizerStep)

    def __init__(self) -> None:
        self._calls = 0  # of zero_grad, on anything
        self._own: dict[int, int] = {}  # ... of those, on what this optimizer holds

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ZeroGrad):
            self._calls += 1
            for key in event.cleared:
                self._own[key] = self._own.get(key, 0) + 1
        elif isinstance(event, OptimizerStep):
            key = event.optimizer
            adding = not event.cleared and event.backwards > 0 and not event.closure
            if self.in_a_row(key, adding) == THRICE and self.once(key):
                yield self.finding(
                    event,
                    f"{event.kind} has made {THRICE} steps in a row on gradients that were never cleared in between",
                    cause=self._cause(key),
                    remedy="call `optimizer.zero_grad()` in the batch loop, once for every step",
                    at=event.backward_sites[-1] if event.backward_sites else event.at,
                    backward_calls=event.pending,
                )

    def _cause(self, optimizer: int) -> str:
        if self._own.get(optimizer):
            return "zero_grad() is called, but not between these steps: it stands outside the batch loop"
        if self._calls:
            return "zero_grad() is called, but on something else than what this optimizer steps"
        return "zero_grad() is never called: each backward pass adds to all gradients since the start"


WITHIN = 9  # steps, so that one in three is enough: every second step may be a real one


class StepWithoutNewGradients(Detector):
    """`step()` is called again on gradients that it has already used.

    ## Why it matters
    The same gradient moves the weights twice (or many times), as if the learning rate were higher, and the
    moments count it as new evidence each time.

    ## Usual causes
    - `step()` in the loop and once more in a helper or a callback
    - `scaler.step(optimizer)` and `optimizer.step()` both
    - `step()` in an inner loop without a backward pass of its own

    ## What to do
    One `step()` for one new set of gradients.

    ## When it stays silent
    When gradients are written by hand between the steps.
    """

    card = Card("PM124", "step-without-new-gradients", "update-order", Severity.ERROR).explaining(*TOO_LARGE)
    listens = (OptimizerStep,)

    def __init__(self) -> None:
        self._recent: dict[int, list[bool]] = {}

    def observe(self, event: OptimizerStep) -> Findings:
        recent = self._recent[event.optimizer] = [
            *self._recent.get(event.optimizer, [])[1 - WITHIN :],
            event.reused,
        ]
        # A loop that steps on one gradient over and over without any new one does not train: it is reported too.
        if event.reused and sum(recent) >= THRICE and self.once(event.optimizer):
            yield self.finding(
                event,
                f"{event.kind} stepped {sum(recent)} of its last {len(recent)} times on gradients it had already used",
                cause="no backward pass and no zero_grad() came between this step() and the one before",
                remedy="call step() once for each backward pass (or accumulation window)",
                reused=sum(recent),
                steps=len(recent),
            )


class ScaledGradientsStepped(Detector):
    """An optimizer steps on gradients that still carry the scale of a GradScaler.

    ## Why it matters
    `scaler.scale(loss)` multiplies the gradients by up to 65536. `optimizer.step()` uses them as they are: plain
    SGD takes steps that are too long by this factor, clipping clips everything, and an overflow is not skipped.

    ## Usual causes
    - `optimizer.step()` instead of `scaler.step(optimizer)`

    ## What to do
    `scaler.step(optimizer)`, then `scaler.update()`.
    """

    card = Card("PM126", "scaled-gradients-stepped", "update-order", Severity.ERROR).explaining(
        *DIVERGING, "clipped-hard-every-step", "weights-stay-non-finite"
    )
    listens = (OptimizerStep,)

    def observe(self, event: OptimizerStep) -> Findings:
        if event.scaled and not event.touched and self.times(event.optimizer) == THRICE:
            yield self.finding(
                event,
                f"{event.kind} steps on gradients that are still multiplied by the GradScaler's scale",
                cause="backward() ran on scaler.scale(loss), and nothing unscaled the gradients before step()",
                remedy="call `scaler.step(optimizer)` and `scaler.update()` instead of `optimizer.step()`",
                steps=THRICE,
            )


MANY = 8  # batches in an epoch; a few may be one deliberate large batch


class StepOncePerEpoch(Detector):
    """The gradients of a whole epoch are summed up, and `step()` is called once at its end.

    ## Why it matters
    There is one update per epoch instead of one per batch, and it is too large by a factor of the number of
    batches.

    ## Usual causes
    - `step()` and `zero_grad()` slipped out of the batch loop by their indentation

    ## What to do
    Move both into the batch loop. For full-batch training divide each loss by the number of batches.

    ## When it stays silent
    When the losses are divided, or are sums over samples, as in deliberate full-batch training.
    """

    card = Card("PM127", "step-once-per-epoch", "update-order", Severity.WARNING).explaining(
        *TOO_LARGE,
        "accumulation-not-divided",
        "updates-too-small",
        "clipped-hard-every-step",
        "scheduler-stepped-per-batch",
    )
    listens = (WindowEnded, EpochStarted, EpochEnded, LogLine)

    def __init__(self) -> None:
        self._loaders = False
        self._passes: list[int] = []  # batches of the loader passes that ended since the last step
        self._lines = 0  # lines about an epoch since the last step

    def observe(self, event: Event) -> Findings:
        if isinstance(event, WindowEnded):
            if event.end == STEPPED:
                yield from self._window(event)
                self._passes.clear()
                self._lines = 0
        elif isinstance(event, EpochStarted):
            self._loaders = True
        elif isinstance(event, EpochEnded):
            if event.complete:
                self._passes.append(event.batches)
        elif isinstance(event, LogLine):
            self._lines += bool(event.values) and event.values[0][0] in EPOCHS

    def _window(self, window: WindowEnded) -> Findings:
        optimizer, n = window.optimizer, len(window.micros)
        if n < MANY or window.site is None or window.gated or window.touched or window.closure:
            return
        if any(weight != 1.0 for weight in window.weights):
            return
        by_loader = n in self._passes
        by_line = not self._loaders and self._lines == 1
        if not by_loader and not by_line:
            return
        enough = TWICE if by_loader else THRICE
        if self.times((optimizer, n, by_loader)) >= enough and self.once(optimizer):
            yield self.finding(
                window,
                f"the optimizer steps once per epoch, on the sum of the gradients of all {n} batches",
                cause="step() stands outside the batch loop, and the losses are not divided by the number of batches",
                remedy="call zero_grad() and step() in the batch loop",
                at=window.at,
                batches=n,
            )
