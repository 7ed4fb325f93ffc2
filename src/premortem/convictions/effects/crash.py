from premortem.convictions.effect import Effect
from premortem.events import Event, RunEnded, Suspicion


class Crash(Effect):
    """The run ends with an exception that the suspected mistake raises: at that very line, or in words that are its own."""

    listens = (RunEnded,)

    def __init__(
        self, suspicion: Suspicion, *, errors: tuple[str, ...] = (), words: tuple[str, ...] = ()
    ) -> None:
        super().__init__(suspicion)
        self._errors = errors  # that it raises at its own line; none: any
        self._words = words  # of a message that nothing else raises, wherever that is

    def seen(self, event: Event) -> str:
        if not isinstance(event, RunEnded) or event.reason != "crashed":
            return ""
        here = self.suspicion.covers(event.at) and (not self._errors or event.error in self._errors)
        same_file = event.at is not None and event.at.file == self.suspicion.file
        if not here and not (same_file and any(word in event.message for word in self._words)):
            return ""
        first = event.message.strip().splitlines()[0] if event.message.strip() else ""
        return f"the run ended with {event.error}{f': {first}' if first else ''}"
