from collections import Counter

from premortem.derived.windows import THROWN, WindowEnded
from premortem.detectors.base import STILL, Card, Detector, Findings, Severity
from premortem.detectors.shared.optimizers import Optimizers
from premortem.events import (
    Backward,
    Event,
    Forward,
    GraphWalked,
    ModelSeen,
    RunEnded,
    ScalerUpdate,
    ZeroGrad,
)

FEW = 8  # backward passes; fewer may be a look at the gradients
MANY = 100  # cleared by the optimizer itself, and still no step: no need to wait for the end


class StepNeverCalled(Detector):
    """Gradients are computed for an optimizer, and its `step()` is never called.

    ## Why it matters
    The weights stay as they were initialised. Losses wander with the batches, so the log looks alive.

    ## Usual causes
    - `optimizer.step()` is missing, or stands in a branch that is never taken
    - the script calls `scheduler.step()` instead
    - the accumulation length is larger than the number of batches
    - one of two optimizers was forgotten

    ## What to do
    Call `optimizer.step()` after `backward()`.

    ## When it stays silent
    When the weights are moved by hand, when a scaler refused the steps, when the gradients were made for an
    input (adversarial examples, saliency), and when another optimizer steps the same parameters.
    """

    card = Card("PM123", "step-never-called", "update-order", Severity.ERROR).explaining(
        *STILL,
        "gradients-thrown-away",
        "gradients-never-cleared",
        "evaluated-copy-never-changes",
        "scheduler-before-optimizer",
        "scheduler-stepped-per-batch",
        "same-batch-every-step",
        "uninformative-labels",
        "train-and-val-on-different-scales",
    )
    uses = (Optimizers,)
    listens = (ModelSeen, Forward, GraphWalked, Backward, ScalerUpdate, ZeroGrad, WindowEnded, RunEnded)

    def __init__(self) -> None:
        self._backwards: Counter[int] = Counter()  # that gave an optimizer's parameters gradients
        self._foreign = False  # gradients were taken of an input
        self._cleared: Counter[int] = Counter()  # calls of an optimizer's own zero_grad
        self._refused = 0
        self._begun: set[int] = set()  # optimizers whose step() was called with a closure
        self._by_hand = False
        self._models: dict[int, frozenset[int]] = {}  # the parameters of each
        self._fed: dict[int, set[int | None]] = {}  # model -> whose outputs it was given; None for data

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Backward):
            if not event.error:
                self._backwards.update(event.optimizers)
            if event.inside_step:  # a closure's: the step is under way, and may be cut off before its end
                self._begun.update(event.optimizers)
        elif isinstance(event, ZeroGrad):
            self._by_hand = self._by_hand or event.by_hand
            if event.optimizer is not None:
                self._cleared[event.optimizer] += 1
        elif isinstance(event, WindowEnded):
            if event.end == THROWN and self.times(event.optimizer) == MANY <= self._cleared[event.optimizer]:
                if not self.fact(Optimizers).steps:
                    yield from self._judge(event, event.optimizer)
        elif isinstance(event, Forward):
            if event.grad:
                self._fed.setdefault(event.model, set()).add(event.source)
        elif isinstance(event, ModelSeen):
            self._models[event.model] = frozenset(parameter.key for parameter in event.parameters)
        elif isinstance(event, GraphWalked):
            self._foreign = self._foreign or bool(event.other_leaves)
        elif isinstance(event, ScalerUpdate):
            self._refused += event.skipped
        elif isinstance(event, RunEnded):
            # A run that broke off may have been on its way to the first step.
            for optimizer in self.fact(Optimizers).built:
                if not event.cut_off or self._cleared[optimizer] >= FEW:
                    yield from self._judge(event, optimizer)

    def _judge(self, event: Event, optimizer: int) -> Findings:
        optimizers, backwards = self.fact(Optimizers), self._backwards[optimizer]
        if optimizers.steps[optimizer] or backwards < FEW or self._refused or optimizer in self._begun:
            return
        # The script moves the weights itself, or gradients are taken of something else than weights.
        if optimizers.steps[0] or self._by_hand or self._foreign:
            return
        others = self._stepped()
        if any(optimizers.held(optimizer) & held for held in others):
            return
        # Beside optimizers that do step, one that is merely there may be for later.
        if (others and self._cleared[optimizer] < FEW) or not self.once(optimizer):
            return
        yield self.finding(
            event,
            f"{optimizers.built[optimizer].kind} never steps: {backwards} backward passes gave its parameters gradients, and "
            "step() was never called",
            cause="the gradients are computed and dropped, so the weights stay as they were initialised",
            remedy="call `optimizer.step()` after `backward()`",
            at=optimizers.at(optimizer),
            family="gan" if self._judges(optimizer) else None,
            backward_calls=backwards,
        )

    def _stepped(self) -> list[frozenset[int]]:
        """What the optimizers hold that did step."""
        optimizers = self.fact(Optimizers)
        return [optimizers.held(key) for key, steps in optimizers.steps.items() if steps]

    def _judges(self, optimizer: int) -> bool:
        """Whether it should train a discriminator: given data, and what a model of another optimizer makes of noise."""
        mine, others = self.fact(Optimizers).held(optimizer), self._stepped()
        made = {model for model, held in self._models.items() if any(held & stepped for stepped in others)}
        fed = [self._fed.get(model, set()) for model, held in self._models.items() if held & mine]
        return any(None in sources and sources & made for sources in fed)
