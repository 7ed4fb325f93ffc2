from dataclasses import dataclass, field

from premortem.detectors.base import STILL, TWICE, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.epochs import Epochs
from premortem.detectors.shared.schedules import SCRIPT, Schedules
from premortem.events import (
    Custody,
    Event,
    ModelSeen,
    OptimizerBuilt,
    OptimizerStep,
    RunEnded,
    Site,
)

# Steps: a rate that the script sets by hand, it sets before the first one.
_UNSCHEDULED = 50


@dataclass
class Rates:
    """What the groups of one optimizer were trained with."""

    at: Site | None
    groups: list[tuple[int, ...]]  # parameters of each group
    built: list[float]  # rates it was built with
    first_step: int = 0
    steps: int = 0
    graded: bool = False
    ever: list[bool] = field(default_factory=list)  # which groups ever had a rate


class LearningRateZero(Detector):
    """Training runs at learning rate 0.

    ## Why it matters
    Nothing can be learned: the optimizer steps, and no weight moves.

    ## Usual causes
    An integer division (`1 // 10`), a default of 0 in a config, a schedule whose factor is rounded down to 0
    (`step // warmup`), a group that was given rate 0 by mistake.

    ## What to do
    Print `optimizer.param_groups[0]["lr"]` in the loop and follow it back.

    ## When it stays silent
    A warm-up that starts at 0, a schedule that ends there, and groups of loaded or trained weights that are
    frozen by a rate of 0. When the same line has built an optimizer with a rate as well: among the rates that a script tries, 0 shows
    what the others add.
    """

    card = Card("PM211", "learning-rate-zero", "lr", Severity.ERROR).explaining(*STILL)
    uses = (Epochs, Schedules)
    listens = (*Epochs.LISTENS, OptimizerBuilt, OptimizerStep, ModelSeen, Custody, RunEnded)

    def __init__(self) -> None:
        self._rates: dict[int, Rates] = {}
        self._fresh: dict[
            int, str
        ] = {}  # key -> name of parameters that get gradients and were never trained
        self._copies: set[int] = set()  # models that began as a copy of another one

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerBuilt):
            groups = [group.parameters for group in event.groups]
            self._rates[event.optimizer] = Rates(event.at, groups, [group.lr for group in event.groups])
        elif isinstance(event, OptimizerStep):
            self._stepped(event)
            yield from self._unscheduled(event)
        elif isinstance(event, ModelSeen):
            if event.copy_of is not None:
                self._copies.add(event.model)
        elif isinstance(event, Custody):
            for link in event.links:
                if link.loaded or link.trained or link.model in self._copies:
                    self._fresh.pop(link.key, None)
                elif link.gradient:
                    self._fresh[link.key] = link.name
        else:
            yield from self._judge(event)

    def _stepped(self, event: OptimizerStep) -> None:
        known = self._rates.get(event.optimizer)
        if known is None:
            return
        if not known.steps:
            known.first_step = event.step - 1
        known.steps += 1
        known.graded = known.graded or event.with_grad > 0
        known.ever += [False] * (len(event.lrs) - len(known.ever))
        for i, rate in enumerate(event.lrs):
            known.ever[i] = known.ever[i] or rate != 0  # nan: it is on the device

    def _unscheduled(self, event: OptimizerStep) -> Findings:
        """Nothing has ever set a rate, neither a scheduler nor the script: there is no warm-up to wait for."""
        known = self._rates.get(event.optimizer)
        if known is None or known.steps < _UNSCHEDULED or self.said(event.optimizer):
            return
        if self._is_a_control(known, 0):
            return
        if known.graded and self._never_set(event.optimizer, known):
            self.once(event.optimizer)
            yield self._all(event, event.optimizer, known)

    def _never_set(self, key: int, known: Rates) -> bool:
        own = self.fact(Schedules).own.get(key)
        if own is None or own.rewritten or own.changes:
            return False
        return not any(known.ever) and not any(known.built)

    def _is_a_control(self, known: Rates, group: int) -> bool:
        """Whether the same line has built an optimizer with a rate, before or since: the script tries several, and 0 is one of them."""
        return known.at is not None and any(
            other.at == known.at
            and len(other.built) == len(known.built)
            and any(other.ever[group : group + 1])
            for other in self._rates.values()
            if other is not known
        )

    def _judge(self, event: Event) -> Findings:
        over = isinstance(event, RunEnded)
        for key, known in self._rates.items():
            if self.said(key) or not known.graded or all(known.ever):
                continue
            epochs = self.fact(Epochs).between(known.first_step, event.step)
            short = known.steps < 20 and not (over and known.steps > TWICE and self._never_set(key, known))
            if short or not (over or epochs >= 3):
                continue
            if not any(known.ever) and self._is_a_control(known, 0):
                continue
            if not any(known.ever):
                self.once(key)
                yield self._all(event, key, known)
            elif over:
                yield from self._some(event, key, known)

    def _all(self, event: Event, key: int, known: Rates) -> Finding:
        kind, at = self.fact(Schedules).who_sets(key)
        scheduled = kind != SCRIPT and max(known.built, default=0.0) > 0
        return self.finding(
            event,
            f"all {known.steps} steps were made with learning rate 0"
            + (f", set by {kind}" if scheduled else ""),
            cause="With rate 0 a step changes nothing."
            if not scheduled
            else f"The optimizer was built with {max(known.built):.3g}, and {kind} multiplies that by 0.",
            remedy="Give the optimizer a rate above 0; look for an integer division or a default of 0.",
            at=at if scheduled else known.at,
            family="scheduler" if scheduled else None,
            steps=known.steps,
        )

    def _some(self, event: Event, key: int, known: Rates) -> Findings:
        """Groups that stand still although they were never trained: random layers are not worth keeping."""
        still = [i for i, ever in enumerate(known.ever) if not ever and i < len(known.groups)]
        still = [i for i in still if not self._is_a_control(known, i)]
        names = [self._fresh[k] for i in still for k in known.groups[i] if k in self._fresh]
        if not names:
            return
        self.once(key)
        yield self.finding(
            event,
            f"{len(still)} of {len(known.ever)} parameter groups had learning rate 0 in all {known.steps} steps; "
            f"they hold {len(names)} parameters that were never trained or loaded, first `{names[0]}`",
            cause="They get gradients, but stay as they were initialised.",
            remedy="Give these groups a rate above 0 (look for an integer division), or freeze them with requires_grad_(False).",
            at=known.at,
            parameter=names[0],
            severity=Severity.WARNING,
            steps=known.steps,
            groups=still,
        )
