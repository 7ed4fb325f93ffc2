"""The optimizers of the run: what each one holds, where it was built, and how often it has stepped."""

from collections import Counter

from premortem.detectors.shared.facts import Fact
from premortem.events import Event, OptimizerBuilt, OptimizerStep, Site


class Optimizers(Fact):
    LISTENS = (OptimizerBuilt, OptimizerStep)

    def __init__(self) -> None:
        self.built: dict[int, OptimizerBuilt] = {}  # as it is now: groups may be added later
        self.steps: Counter[int] = Counter()  # 0 for steps that a script makes by hand
        self._at: dict[int, Site | None] = {}

    def observe(self, event: Event) -> None:
        if isinstance(event, OptimizerStep):
            self.steps[event.optimizer] += 1
        elif isinstance(event, OptimizerBuilt) and not event.error:
            self.built[event.optimizer] = event
            self._at.setdefault(event.optimizer, event.at)

    def at(self, optimizer: int) -> Site | None:
        return self._at.get(optimizer)

    def held(self, optimizer: int) -> frozenset[int]:
        """The keys of its parameters."""
        built = self.built.get(optimizer)
        return built.held if built is not None else frozenset()
