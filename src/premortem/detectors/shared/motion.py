"""How far the steps of each optimizer move the weights, and what the loss makes of it."""

import math
from dataclasses import dataclass, field
from statistics import median

from premortem.detectors.shared.facts import Fact
from premortem.detectors.shared.series import Series
from premortem.events import Custody, Event, ModelSeen, OptimizerStep, Parameter, StepStats

MOST_AUDITS = 64  # whose updates are kept: the start of a run, which is what is asked for
SAMPLED = 4096  # entries of a matrix, at least, whose change was measured
NOTHING = 2e-8  # of the weights in one step: a million such steps move them by two per cent
SOON = 6  # steps at one rate, which does not rise: no warm-up


@dataclass
class Audit:
    """One step, looked at closely: sizes of the updates relative to the weight matrices they change."""

    number: int  # of the optimizer's steps
    typical: float
    largest: float
    pull: float  # largest gradient relative to its matrix
    entry: float = 0.0  # by how much a typical entry changed
    vectors: float = 0.0  # ... and at most, of biases and scales, which may begin at zero


@dataclass
class Motion:
    """What one optimizer did so far."""

    steps: int = 0
    rates: list[float] = field(default_factory=list)  # largest rate at the first, the latest step, and ever
    audits: list[Audit] = field(default_factory=list)
    losses: Series = field(default_factory=Series)
    fresh: bool = True  # it trains weights that were neither loaded nor trained before

    @property
    def rose(self) -> float:
        """By which factor the rate rose above its first value (an LR finder, a warm-up)."""
        return self.rates[2] / self.rates[0] if self.rates and self.rates[0] > 0 else math.inf

    @property
    def pulled(self) -> bool:
        """The matrices got gradients: when they stand still, it is not for want of those."""
        return sum(audit.pull > 0 for audit in self.audits) > 0.5 * len(self.audits)

    @property
    def hopeless(self) -> bool:
        """A million steps like these would not get anywhere: whatever the loss does, they are not the reason."""
        if self.steps < SOON or len(self.audits) < SOON or self.rose > 1 or not self.pulled:
            return False
        return all(max(audit.largest, audit.vectors) <= NOTHING for audit in self.audits)

    @property
    def largest(self) -> float:
        """The largest relative update in any audited step."""
        return max((audit.largest for audit in self.audits), default=math.inf)


class Motions(Fact):
    """The motions of all optimizers."""

    LISTENS = (ModelSeen, OptimizerStep, Custody, StepStats)

    def __init__(self) -> None:
        self.parameters: dict[int, Parameter] = {}
        self.of: dict[int, Motion] = {}
        self._copies: set[int] = set()  # models that began as a copy of another one

    def observe(self, event: Event) -> None:
        if isinstance(event, ModelSeen):
            self.parameters.update((parameter.key, parameter) for parameter in event.parameters)
            if event.copy_of is not None:
                self._copies.add(event.model)
        elif isinstance(event, OptimizerStep):
            self._stepped(event)
        elif isinstance(event, Custody):
            self._audited(event)
        elif isinstance(event, StepStats):
            motion = self.of.setdefault(event.optimizer, Motion())
            if event.loss is not None:
                motion.losses.add(event.loss)

    def is_matrix(self, key: int) -> bool:
        known = self.parameters.get(key)
        return known is not None and len(known.shape) > 1

    def _stepped(self, event: OptimizerStep) -> None:
        motion = self.of.setdefault(event.optimizer, Motion())
        motion.steps += 1
        known = [rate for rate in event.lrs if not math.isnan(rate)]
        if known:
            rate = max(known)
            motion.rates = [motion.rates[0], rate, max(motion.rates[2], rate)] if motion.rates else [rate] * 3

    def _audited(self, event: Custody) -> None:
        motion = self.of.setdefault(event.optimizer, Motion())
        updates, pulls, entries, vectors = [], [], [], [0.0]
        for link in event.links:
            if event.optimizer not in link.owners or not link.graded:
                continue
            entry = (link.update or 0.0) / math.sqrt(max(1, min(link.numel, SAMPLED)))
            if not self.is_matrix(link.key):
                vectors.append(entry)
                continue
            if link.loaded or link.trained or link.model in self._copies:
                motion.fresh = False
            weight = link.weight if link.start is None else link.start
            if link.update is not None and weight:
                updates.append(link.update / weight)
                pulls.append((link.gradient or 0.0) / weight)
                entries.append(entry)
        if updates and len(motion.audits) < MOST_AUDITS:
            sizes = median(updates), max(updates), max(pulls), median(entries), max(vectors)
            motion.audits.append(Audit(motion.steps, *sizes))
