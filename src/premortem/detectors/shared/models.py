"""The models that were seen, and what they and their parameters are called."""

from premortem.detectors.shared.facts import Fact
from premortem.events import Event, ModelSeen


class Models(Fact):
    LISTENS = (ModelSeen,)

    def __init__(self) -> None:
        self.seen: dict[int, ModelSeen] = {}
        self._parameters: dict[int, str] = {}

    def observe(self, event: Event) -> None:
        if isinstance(event, ModelSeen):
            self.seen[event.model] = event
            self._parameters.update({parameter.key: parameter.name for parameter in event.parameters})

    def name(self, model: int, otherwise: str = "model") -> str:
        return self.seen[model].name if model in self.seen else otherwise

    def parameter(self, key: int | None, otherwise: str = "") -> str:
        return otherwise if key is None else self._parameters.get(key, otherwise)
