from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from premortem.cards import Card
from premortem.derived.windows import THROWN, WindowEnded
from premortem.detectors.base import Detector
from premortem.events import (
    Backward,
    Event,
    Forward,
    GraphWalked,
    ModelSeen,
    OptimizerBuilt,
    OptimizerStep,
    RunEnded,
    ScalerUpdate,
    Site,
    ZeroGrad,
)
from premortem.findings import Finding, Severity

FEW = 8  # backward passes; fewer may be a look at the gradients
MANY = 100  # cleared by the optimizer itself, and still no step: no need to wait for the end


class StepNeverCalled(Detector):
    """Gradients are computed for an optimizer, and its `step()` is never called.

    ## Why it matters
    The weights stay as they were initialised. Losses wander with the batches, so the log looks alive.

    ## Usual causes
    - `optimizer.step()` is missing, or stands in a branch that is never taken
    - `scheduler.step()` was taken for it
    - the accumulation length is larger than the number of batches
    - one of two optimizers was forgotten

    ## What to do
    Call `optimizer.step()` after `backward()`.

    ## When it stays silent
    When the weights are moved by hand, when a scaler refused the steps, when the gradients were made for an
    input (adversarial examples, saliency), and when another optimizer steps the same parameters.
    """

    card = Card(
        code="PM123",
        name="step-never-called",
        family="update-order",
        severity=Severity.ERROR,
        explains=(
            "gradients-thrown-away",
            "gradients-never-cleared",
            "metric-frozen",
            "evaluated-copy-never-changes",
            "scheduler-before-optimizer",
            "scheduler-stepped-per-batch",
            "updates-too-small",
            "same-batch-every-step",
            "uninformative-labels",
            "train-and-val-on-different-scales",
        ),
    )
    listens = (
        ModelSeen,
        OptimizerBuilt,
        Forward,
        GraphWalked,
        Backward,
        OptimizerStep,
        ScalerUpdate,
        ZeroGrad,
        WindowEnded,
        RunEnded,
    )

    def __init__(self) -> None:
        self._backwards: Counter[int] = Counter()  # that gave an optimizer's parameters gradients
        self._foreign = False  # gradients were taken of an input
        self._held: dict[int, frozenset[int]] = {}
        self._built: dict[int, tuple[str, Site | None]] = {}
        self._steps: Counter[int] = Counter()
        self._cleared: Counter[int] = Counter()  # calls of an optimizer's own zero_grad
        self._thrown: Counter[int] = Counter()
        self._refused = 0
        self._begun: set[int] = set()  # optimizers whose step() was called with a closure
        self._by_hand = False
        self._models: dict[int, frozenset[int]] = {}  # the parameters of each
        self._fed: dict[
            int, set[int | None]
        ] = {}  # model -> the models whose outputs it was given; None for data

    def observe(self, event: Event) -> Iterable[Finding]:
        if isinstance(event, OptimizerStep):
            self._steps[event.optimizer] += 1
        elif isinstance(event, Backward):
            if not event.error:
                self._backwards.update(event.optimizers)
            if event.inside_step:  # a closure's: the step is under way, and may be cut off before its end
                self._begun.update(event.optimizers)
        elif isinstance(event, ZeroGrad):
            self._by_hand = self._by_hand or event.by_hand
            if event.optimizer is not None:
                self._cleared[event.optimizer] += 1
        elif isinstance(event, WindowEnded):
            if event.end == THROWN:
                self._thrown[event.optimizer] += 1
                if (
                    self._thrown[event.optimizer] == MANY <= self._cleared[event.optimizer]
                    and not self._steps
                ):
                    yield from self._judge(event, event.optimizer)
        elif isinstance(event, Forward):
            if event.grad:
                self._fed.setdefault(event.model, set()).add(event.source)
        elif isinstance(event, ModelSeen):
            self._models[event.model] = frozenset(parameter.key for parameter in event.parameters)
        elif isinstance(event, GraphWalked):
            self._foreign = self._foreign or bool(event.other_leaves)
        elif isinstance(event, OptimizerBuilt):
            if not event.error:
                self._held[event.optimizer] = frozenset(
                    key for group in event.groups for key in group.parameters
                )
                self._built.setdefault(event.optimizer, (event.kind, event.at))
        elif isinstance(event, ScalerUpdate):
            self._refused += event.skipped
        elif isinstance(event, RunEnded):
            # A run that broke off may have been on its way to the first step.
            for optimizer in self._held:
                if not event.cut_off or self._cleared[optimizer] >= FEW:
                    yield from self._judge(event, optimizer)

    def _judge(self, event: Event, optimizer: int) -> Iterable[Finding]:
        backwards = self._backwards[optimizer]
        if self._steps[optimizer] or self.said(optimizer) or backwards < FEW or self._refused:
            return
        if self._steps[0] or self._by_hand:  # the script moves the weights itself
            return
        if optimizer in self._begun:
            return
        others = [self._held.get(key, frozenset()) for key in self._steps if self._steps[key]]
        if any(self._held[optimizer] & held for held in others):
            return
        if self._foreign:
            return
        # Beside optimizers that do step, one that is merely there may be for later.
        if others and self._cleared[optimizer] < FEW:
            return
        self.once(optimizer)
        kind, at = self._built[optimizer]
        yield self.finding(
            event,
            f"{kind} never steps: {backwards} backward passes gave its parameters gradients, and step() was never called",
            cause="the gradients are computed and dropped, so the weights stay as they were initialised",
            remedy="call `optimizer.step()` after `backward()`",
            at=at,
            family="gan" if self._judges(optimizer) else None,
            backward_calls=backwards,
        )

    def _judges(self, optimizer: int) -> bool:
        """Whether it should train a discriminator: shown data, and what a model of another optimizer makes of noise."""
        judges = [model for model, held in self._models.items() if held & self._held[optimizer]]
        others = [
            model
            for model, held in self._models.items()
            if any(held & self._held.get(key, frozenset()) for key in self._steps if self._steps[key])
        ]
        fed = [self._fed.get(model, set()) for model in judges]
        return any(None in sources and sources & set(others) for sources in fed)
