from __future__ import annotations

from collections.abc import Iterable

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.detectors.shared.models import Models
from premortem.detectors.shared.wording import count, some
from premortem.events import Backward, Event, OptimizerBuilt, OptimizerStep, Site, ZeroGrad
from premortem.findings import Finding, Severity


class SteppedTwiceOnOneGradient(Detector):
    """Two optimizers hold the same parameter and both step it on the same gradient.

    ## Why it matters
    The parameter moves twice per batch, with two learning rates and two sets of moments: far more than either
    optimizer was set up for. A part that was meant to learn slowly is destroyed by the other optimizer.

    ## Usual causes
    - one optimizer for the backbone, and a second one built on `model.parameters()`, which includes it
    - an embedding that two modules share, and an optimizer for each of them

    ## What to do
    Give every parameter to one optimizer. For different rates use parameter groups of one optimizer.

    ## When it stays silent
    When there is a new backward pass (or `zero_grad`) between the two steps.
    """

    card = Card(
        code="PM104",
        name="stepped-twice-on-one-gradient",
        family="optimizer-ownership",
        severity=Severity.ERROR,
        explains=("updates-too-large", "exploding-gradients", "step-without-new-gradients"),
    )
    uses = (Models,)
    listens = (OptimizerBuilt, Backward, ZeroGrad, OptimizerStep)

    def __init__(self) -> None:
        self._held: dict[int, frozenset[int]] = {}
        self._built: dict[int, Site | None] = {}
        self._stepped: list[int] = []  # optimizers that stepped on the gradients that are there now
        self._times: dict[tuple[int, int], int] = {}

    def observe(self, event: Event) -> Iterable[Finding]:
        if isinstance(event, OptimizerBuilt):
            self._held[event.optimizer] = frozenset(key for group in event.groups for key in group.parameters)
            self._built.setdefault(event.optimizer, event.at)
        elif isinstance(event, Backward):
            self._stepped.clear()
        elif isinstance(event, ZeroGrad):
            cleared = set(event.cleared)
            self._stepped = [key for key in self._stepped if key not in cleared]
        elif isinstance(event, OptimizerStep) and event.with_grad and not event.closure:
            yield from self._step(event)

    def _step(self, event: OptimizerStep) -> Iterable[Finding]:
        mine = self._held.get(event.optimizer, frozenset())
        for other in self._stepped:
            shared = mine & self._held.get(other, frozenset())
            if other == event.optimizer or not shared or not event.backwards:
                continue
            pair = (other, event.optimizer)
            self._times[pair] = self._times.get(pair, 0) + 1
            if self._times[pair] == THRICE:
                yield self._found(event, other, shared)
        self._stepped.append(event.optimizer)

    def _found(self, event: OptimizerStep, other: int, shared: frozenset[int]) -> Finding:
        names = [self.fact(Models).parameter(key) for key in sorted(shared)]
        named = [name for name in names if name]
        # The one that holds more besides is the one that took what was not its own.
        larger = max((other, event.optimizer), key=lambda key: len(self._held[key]))
        first, second = self._built.get(other), self._built.get(event.optimizer)
        return self.finding(
            event,
            f"{count(len(shared), 'parameter')} ({some(named) if named else 'shared'}) "
            f"{'is' if len(shared) == 1 else 'are'} stepped by two optimizers on the same gradient",
            cause=f"the optimizers built at {first} and {second} both hold them, and both step after each backward pass",
            remedy="leave them out of one of the two; for another learning rate use a parameter group",
            at=self._built.get(larger),
            parameter=named[0] if named else None,
            parameters=len(shared),
        )
