"""Gradient windows: which backward passes an optimizer's step sums up, and how each was weighted.

backward backward backward step        one window of three micro-batches, used
backward zero_grad                     one window of one, thrown away
backward other.step() zero_grad        made for another optimizer (a generator's loss, seen by the discriminator)

Derived once for all detectors, as `derived/phases.py` derives evaluations; pure, so it can be tested without torch.
"""

from collections import Counter
from dataclasses import dataclass, field

from premortem.events import (
    Backward,
    BatchDrawn,
    Event,
    Forward,
    GraphWalked,
    LossCall,
    OptimizerStep,
    ScalerUpdate,
    Site,
    ZeroGrad,
)

# Backward nodes that average over the batch by themselves when the reduction is "mean".
AVERAGING = frozenset(
    "Mean NllLoss NllLossNd NllLoss2D CrossEntropyLoss MseLoss L1Loss SmoothL1Loss HuberLoss BinaryCrossEntropy "
    "BinaryCrossEntropyWithLogits".split()
)
STEPPED, THROWN = "stepped", "thrown"
MOST_MICROS = 4096


@dataclass(slots=True)
class Micro:
    """One backward pass. `weight` is what its batch mean was multiplied with, None when that is not known."""

    site: Site | None
    weight: float | None
    samples: int | None = None
    factor: float = 1.0  # the last thing that was done to the loss was a multiplication with this
    root: str = ""  # ... of what this operation made
    divided: tuple[float, ...] = ()  # constants that it was divided by
    counted: int | None = (
        None  # places of sequences that its loss is the mean of, when it is one loss of that kind
    )


@dataclass(slots=True, kw_only=True)
class WindowEnded(Event):
    """Backward passes since the gradients were cleared, and what became of them."""

    optimizer: int
    end: str  # STEPPED or THROWN
    micros: list[Micro]
    gated: bool = False  # the step stands under an `if i % k`
    touched: bool = False  # the user's own code wrote the gradients before the step
    closure: bool = False
    one_loader: bool = False  # every micro-batch was one batch of the same DataLoader

    @property
    def sites(self) -> set[Site | None]:
        return {micro.site for micro in self.micros}

    @property
    def site(self) -> Site | None:
        return self.micros[0].site if len(self.sites) == 1 else None

    @property
    def weights(self) -> list[float | None]:
        return [micro.weight for micro in self.micros]

    @property
    def factors(self) -> list[float] | None:
        """For losses of several terms, whose weights are not known: what each was multiplied with at last, when that
        is nothing at all or the division by the number of micro-batches."""
        part = 1 / len(self.micros)
        alike = len({micro.root for micro in self.micros}) == 1
        plain = all(abs(micro.factor - 1) < 1e-6 or abs(micro.factor - part) < 1e-6 for micro in self.micros)
        return [micro.factor for micro in self.micros] if alike and plain else None

    @property
    def accumulates(self) -> bool:
        """Batches of one loop are summed up on purpose: not the tasks of one step, not two losses."""
        return (
            len(self.micros) > 1
            and len(self.sites) == 1
            and not self.closure
            and (self.gated or self.one_loader)
        )


@dataclass
class Open:
    micros: list[Micro] = field(default_factory=list)
    shared: bool = False  # another optimizer stepped on this backward pass


class Windows:
    """Follows all optimizers; `observe` gives the windows that an event closes."""

    def __init__(self) -> None:
        self._open: dict[int, Open] = {}
        self._losses: list[tuple[float | None, str]] = []
        self._counted: list[int | None] = []  # by the same losses
        self._samples: int | None = None  # of the first forward since the last backward pass
        self._drawn: Counter[int] = Counter()
        # Backward passes for an input's gradient: adversarial examples.
        self._foreign: set[Site | None] = set()

    def observe(self, event: Event) -> list[WindowEnded]:
        if isinstance(event, Forward):
            if event.grad and self._samples is None:
                self._samples = event.samples
        elif isinstance(event, LossCall):
            if event.grad:
                self._losses = [*self._losses[-15:], (event.value, event.reduction)]
                self._counted = [*self._counted[-15:], event.counted]
        elif isinstance(event, GraphWalked):
            if event.other_leaves:
                self._foreign.add(event.at)
        elif isinstance(event, BatchDrawn):
            self._drawn[event.loader] += 1
        elif isinstance(event, Backward):
            self._backward(event)
        elif isinstance(event, OptimizerStep):
            return self._stepped(event)
        elif isinstance(event, ZeroGrad):
            return self._cleared(event)
        elif isinstance(event, ScalerUpdate) and event.skipped:
            self._open.clear()
        return []

    def _backward(self, event: Backward) -> None:
        losses, self._losses = self._losses, []
        counted, self._counted = self._counted, []
        samples, self._samples = self._samples, None
        if event.error:
            return
        factor = 1.0 if event.scaled else event.scale
        places = counted[0] if len(counted) == 1 else None
        micro = Micro(event.at, weight_of(event, losses), samples, factor, event.root, event.divided, places)
        for optimizer in event.optimizers:
            micros = self._open.setdefault(optimizer, Open()).micros
            if len(micros) < MOST_MICROS:
                micros.append(micro)

    def _stepped(self, event: OptimizerStep) -> list[WindowEnded]:
        if event.optimizer == 0:  # weights moved by hand: all gradients have been used
            self._open.clear()
            return []
        drawn, self._drawn = self._drawn, Counter()
        mine = self._open.pop(event.optimizer, Open())
        for other in self._open.values():
            other.shared = True
        micros = mine.micros[-event.pending :] if event.pending else []
        window = WindowEnded(
            step=event.step,
            at=event.at,
            optimizer=event.optimizer,
            end=STEPPED,
            micros=micros,
            gated=event.gated,
            touched=event.touched,
            closure=event.closure,
            one_loader=len(micros) in drawn.values() or len(micros) == count(event.batches),
        )
        return [window]

    def _cleared(self, event: ZeroGrad) -> list[WindowEnded]:
        closed = []
        for optimizer in event.cleared or event.wasted:
            mine = self._open.pop(optimizer, Open())
            foreign = bool(self._foreign & {micro.site for micro in mine.micros})
            if optimizer in event.wasted and mine.micros and not (mine.shared or foreign or event.by_hand):
                closed.append(
                    WindowEnded(
                        step=event.step, at=event.at, optimizer=optimizer, end=THROWN, micros=mine.micros
                    )
                )
        return closed


def count(batches: tuple[int, int] | None) -> int:
    """How many were drawn, of which not every one is an event."""
    return 0 if batches is None else batches[1] - batches[0] + 1


def weight_of(event: Backward, losses: list[tuple[float | None, str]]) -> float | None:
    """1.0 when backward was called on a batch mean itself, 0.25 on a quarter of it, None when it is not known
    (several terms, a sum over samples, a value that something else was mixed into)."""
    if event.root in AVERAGING:
        reduction = losses[-1][1] if losses else "mean"
        averaged = reduction == "mean" or (reduction == "none" and event.root == "Mean")
        return event.scale if averaged else None
    values = [value for value, _ in losses]
    means = all(reduction == "mean" for _, reduction in losses)
    if not losses or not means or event.scaled or event.value is None or None in values:
        return None
    total = sum(value for value in values if value is not None)
    if not total:
        return None
    weight = event.value / total
    return event.scale if abs(weight / event.scale - 1) < 1e-5 else None
