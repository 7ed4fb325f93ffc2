"""Which models train against each other: a generator whose output goes into a discriminator, each with its own optimizer.

An encoder in front of a decoder looks similar; but a discriminator is also shown samples that do not come from
the generator, and it judges the generator's samples in its own steps as well.
"""

from premortem.detectors.shared.facts import Fact
from premortem.events import Event, Forward, ModelSeen, OptimizerBuilt, OptimizerStep


class Players(Fact):
    LISTENS = (ModelSeen, OptimizerBuilt, Forward, OptimizerStep)

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self._parameters: dict[int, frozenset[int]] = {}
        self._held: dict[int, frozenset[int]] = {}
        self._calls: list[Forward] = []  # since the last step
        # (generator, discriminator) -> calls of the second on what the first made: twice on the same, in its own steps; and in those of the first
        self._rounds: dict[tuple[int, int], list[int]] = {}
        self._roles: dict[tuple[int, int], set[str]] = {}  # (generator, discriminator) -> what was seen

    def observe(self, event: Event) -> None:
        if isinstance(event, ModelSeen):
            self.names[event.model] = event.name
            self._parameters[event.model] = frozenset(parameter.key for parameter in event.parameters)
        elif isinstance(event, OptimizerBuilt):
            self._held[event.optimizer] = event.held
        elif isinstance(event, Forward):
            if len(self._calls) < 256:
                self._calls.append(event)
        elif isinstance(event, OptimizerStep):
            self._stepped(event)

    def _stepped(self, event: OptimizerStep) -> None:
        calls, self._calls = self._calls, []
        for call in calls:
            if call.source is None or call.source == call.model or not call.grad:
                continue
            pair = (call.source, call.model)
            if self.holds(event.optimizer, call.source) and not self.holds(event.optimizer, call.model):
                self._rounds.setdefault(pair, [0, 0])[1] += 1
            if self.holds(event.optimizer, call.model) and not self.holds(event.optimizer, call.source):
                same = [c for c in calls if c.model == call.model and c.fingerprint == call.fingerprint]
                self._rounds.setdefault(pair, [0, 0])[0] += call.fingerprint is not None and len(same) > 1
                roles = self._roles.setdefault((call.source, call.model), set())
                roles.add("judged")
                if any(c.model == call.model and c.source != call.source and c.grad for c in calls):
                    roles.add("real")

    def unshown(self) -> list[tuple[int, int, int]]:
        """(generator, discriminator, rounds): each steps in turn on verdicts about what the first makes; in its own step the second is
        shown the very same samples twice, and never anything else."""
        return [
            (*pair, min(rounds))
            for pair, rounds in self._rounds.items()
            if min(rounds) and "real" not in self._roles.get(pair, ())
        ]

    def holds(self, optimizer: int, model: int) -> bool:
        return bool(self._held.get(optimizer, frozenset()) & self._parameters.get(model, frozenset()))

    def parameters(self, model: int) -> frozenset[int]:
        return self._parameters.get(model, frozenset())

    def pairs(self) -> list[tuple[int, int]]:
        """(generator, discriminator)"""
        return [pair for pair, roles in self._roles.items() if roles == {"judged", "real"}]
