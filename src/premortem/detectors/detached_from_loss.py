from collections import Counter
from dataclasses import dataclass, field

from premortem.detectors.base import FADING, Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.wording import parameters_of, where
from premortem.events import (
    Custody,
    Detached,
    Event,
    Forward,
    GraphWalked,
    Link,
    OptimizerStep,
    RunEnded,
    Site,
)

# Cuts that are not made to look at a number: the result is computed with.
HARD = frozenset({"detach", "data", "numpy", "tensor", "as_tensor"})
FLAT = frozenset({"round", "sign", "floor"})  # the graph goes on, and the derivative is zero
WORDS = {
    "detach": "`.detach()`",
    "data": "`.data`",
    "numpy": "`.numpy()`",
    "item": "`.item()`",
    "tolist": "`.tolist()`",
    "tensor": "`torch.tensor(...)`",
    "as_tensor": "`torch.as_tensor(...)`",
    "comparison": "a comparison",
    "max": "taking only the index from `max`",
    "min": "taking only the index from `min`",
    "topk": "taking only the indices from `topk`",
    "sort": "taking only the indices from `sort`",
}
LEFT_OUT = "left out"
ENTIRELY = {"no_grad": "they run under `no_grad`", LEFT_OUT: "no loss depends on what this model gives"}
SIGHTINGS = 4  # audited steps in which the parameter got nothing
PATIENCE = 30  # steps of its optimizer: a warm-up of the rest may be going on
MORE_PATIENCE = 200  # where the cut may be mere bookkeeping


@dataclass
class Watch:
    """One parameter that its optimizer has never seen a gradient of."""

    link: Link
    sightings: int = 0
    ran: int = 0
    without_grad: int = 0
    over: bool = False  # the optimizer is gone
    cuts: Counter[tuple[str, Site | None, bool]] = field(default_factory=Counter)


class DetachedFromLoss(Detector):
    """A part of the model runs in every step, and its gradient is cut off before the loss.

    ## Why it matters
    An optimizer holds these parameters and steps, but they never get a gradient: that part of the model stays as
    it was initialised, while the rest learns around it and the loss goes down.

    ## Usual causes
    - `.detach()`, `.data`, `.item()`, `.numpy()` or `torch.tensor(...)` on the way from the module to the loss
    - `torch.no_grad()` around a part that should be trained, or left on a helper as a decorator
    - a part whose result is computed and never used: arithmetic under `no_grad`, another variable in its place
    - an operation without a derivative in the middle: `argmax`, the indices of `topk`, a comparison, `round`, `sign`

    ## What to do
    Compute with the tensor itself. Where a hard decision is needed use a soft one (softmax, Gumbel, a
    straight-through estimate). If the part should stay fixed, freeze it: `requires_grad_(False)`.

    ## When it stays silent
    When the weights were loaded or trained before, when they are moved by hand or started as a copy (EMA, target
    and momentum networks), when the part gets gradients in other steps, and when it is merely unused.
    A whole model that no loss depends on, and one whose results are only looked at outside of it (a number for the log, the accuracy of
    a head), are a remark: whether the loss was to depend on them the run does not say, and an ablation with a weight of 0 looks alike.
    """

    card = Card("PM111", "detached-from-loss", "grad-flow", Severity.ERROR).explaining(
        *FADING, "step-without-new-gradients", "evaluated-copy-never-changes", "dead-units"
    )
    listens = (Forward, Detached, GraphWalked, OptimizerStep, Custody, RunEnded)

    def __init__(self) -> None:
        self._alive: set[int] = set()  # parameters that had a gradient at some time
        self._reached: set[int] = set()
        self._watched: dict[int, Watch] = {}
        self._cuts: dict[tuple[str, Site | None, bool], frozenset[int]] = {}  # of this step
        self._called: dict[int, Site | None] = {}
        self._quiet: dict[int, Site | None] = {}  # where a model was called without gradients
        self._steps: Counter[int] = Counter()
        self._most: dict[int, int] = {}  # most parameters of an optimizer that had a gradient
        self._holds: dict[int, int] = {}
        self._found_before: set[int] = set()
        self._owned: dict[int, frozenset[int]] = {}  # by model: its parameters that optimizers hold

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Forward):
            (self._called if event.grad else self._quiet)[event.model] = event.at
        elif isinstance(event, Detached):
            cut = (event.op, event.at, event.inside)
            self._cuts[cut] = self._cuts.get(cut, frozenset()) | frozenset(event.parameters)
        elif isinstance(event, GraphWalked):
            self._reached.update(event.parameters)
        elif isinstance(event, OptimizerStep):
            self._steps[event.optimizer] += 1
            self._most[event.optimizer] = max(self._most.get(event.optimizer, 0), event.with_grad)
            self._holds[event.optimizer] = event.parameters
        elif isinstance(event, Custody):
            self._audit(event)
            yield from self._speak(event, ended=False)
        elif isinstance(event, RunEnded):
            yield from self._speak(event, ended=not event.cut_off)

    def _audit(self, event: Custody) -> None:
        cuts, self._cuts = self._cuts, {}
        for model in {link.model for link in event.links}:
            mine = (
                link.key for link in event.links if link.model == model and link.owners and link.trainable
            )
            self._owned[model] = self._owned.get(model, frozenset()) | frozenset(mine)
        for link in event.links:
            if link.gradient:  # not None, and not exactly zero
                self._alive.add(link.key)
            if link.key in self._alive or excused(link) or (link.owners and not link.trainable):
                self._watched.pop(link.key, None)
                continue
            if (
                not link.owners
            ):  # a stage is over: its optimizer is gone, and perhaps the part was frozen then
                if link.key in self._watched:
                    self._watched[link.key].over = True
                continue
            watch = self._watched.setdefault(link.key, Watch(link))
            watch.link, watch.over = link, False
            watch.sightings += 1
            watch.ran += link.ran
            watch.without_grad += link.ran_without_grad and not link.ran
            watch.cuts.update(cut for cut, keys in cuts.items() if link.key in keys)

    def _speak(self, event: Event, ended: bool) -> Findings:
        groups: dict[tuple[str, Site | None, bool], list[Watch]] = {}
        for watch in self._watched.values():
            proof = self._proof(watch, ended)
            if proof is not None and watch.link.key not in self._found_before:
                groups.setdefault(proof, []).append(watch)
        for (op, at, sure), watches in groups.items():
            if self._with_grad_elsewhere(watches, op):
                continue
            self._found_before.update(watch.link.key for watch in watches)
            yield self._found(event, op, at, sure, watches)

    def _proof(self, watch: Watch, ended: bool) -> tuple[str, Site | None, bool] | None:
        """What cuts it off, and whether the result is certainly computed with."""
        ended = ended and not watch.over
        steps = max((self._steps[owner] for owner in watch.link.owners), default=0)
        if watch.sightings < SIGHTINGS - ended or steps < (3 if ended else PATIENCE):
            return None
        for (op, at, inside), times in watch.cuts.most_common():
            flat = op in FLAT
            if flat != (watch.link.key in self._reached):
                continue  # reached, and yet no gradient: only an operation without a derivative does that
            if times >= 2 and (op in HARD or inside or ended or steps >= MORE_PATIENCE):
                return op, at, inside or flat or op in HARD
        if watch.without_grad >= SIGHTINGS - ended and not watch.ran and watch.link.key not in self._reached:
            return "no_grad", self._quiet.get(watch.link.model) or self._called.get(watch.link.model), True
        if (
            ended
            and steps >= PATIENCE
            and watch.ran == watch.sightings
            and self._is_left_out(watch.link.model)
        ):
            return LEFT_OUT, self._called.get(watch.link.model), False
        return None

    def _is_left_out(self, model: int) -> bool:
        """Not one parameter of a whole model was ever reached by a loss, though it is called with gradients in the steps of its optimizer."""
        mine = self._owned.get(model, frozenset())
        ran = all((watch := self._watched.get(key)) is not None and watch.ran for key in mine)
        return bool(mine) and ran and not mine & self._reached

    def _with_grad_elsewhere(self, watches: list[Watch], op: str) -> bool:
        """In cruise only numbers are known: if so many of an optimizer's parameters had a gradient at some
        step that these must be among them, they are trained after all."""
        if op in FLAT:
            return False
        owners = Counter(owner for watch in self._watched.values() for owner in watch.link.owners)
        mine = {owner for watch in watches for owner in watch.link.owners}
        return any(self._most.get(owner, 0) > self._holds.get(owner, 0) - owners[owner] for owner in mine)

    def _found(self, event: Event, op: str, at: Site | None, sure: bool, watches: list[Watch]) -> Finding:
        names = [watch.link.name for watch in watches]
        what = ENTIRELY.get(op, f"{WORDS.get(op, f'`{op}`')} cuts the graph")
        line = f" (line {at.line})" if at is not None and op not in ENTIRELY else ""
        one = len(names) == 1
        return self.finding(
            event,
            f"{parameters_of(names)} {'gets' if one else 'get'} no gradient in any step: {what}{line}",
            cause="the optimizer holds them, but the loss does not depend on them, so they stay as initialised",
            remedy=(
                "run this part with gradients enabled, or freeze it with `requires_grad_(False)` if it should stay fixed"
                if op == "no_grad"
                else "compute the loss from the tensor itself, without leaving the graph"
            ),
            at=at,
            severity=None if sure else Severity.INFO,
            certainty=Certainty.MEASURED if sure else Certainty.SUSPECTED,
            **where(names),
            parameters=len(names),
            operation=op,
        )


def excused(link: Link) -> bool:
    return link.loaded or link.trained or link.shifted or link.twin
