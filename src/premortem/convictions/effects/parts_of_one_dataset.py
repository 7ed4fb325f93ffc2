from premortem.convictions.effect import Effect
from premortem.events import Event, LoaderBuilt, Suspicion


class PartsOfOneDataset(Effect):
    """Two loaders draw from parts of one and the same dataset, so that what is set for one part holds for the other."""

    listens = (LoaderBuilt,)

    def __init__(self, suspicion: Suspicion) -> None:
        super().__init__(suspicion)
        self._parts: dict[int, set[int]] = {}  # dataset -> parts of it that were drawn from

    def seen(self, event: Event) -> str:
        if not isinstance(event, LoaderBuilt) or event.part is None:
            return ""
        part, whole = event.part
        parts = self._parts.setdefault(whole, set())
        parts.add(part)
        return "loaders draw from two parts of that one dataset" if len(parts) > 1 else ""
