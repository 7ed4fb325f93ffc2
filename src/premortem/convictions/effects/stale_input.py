from premortem.convictions.effect import THRICE, Effect
from premortem.events import BatchDrawn, Event, Forward, Suspicion


class StaleInput(Effect):
    """A loop draws one new batch after the other, and the model is given the same input each time."""

    listens = (BatchDrawn, Forward)

    def __init__(self, suspicion: Suspicion) -> None:
        super().__init__(suspicion)
        self._drawn: set[int] = set()  # batches since the input was last another one
        self._input: int | None = None

    def seen(self, event: Event) -> str:
        if isinstance(event, BatchDrawn):
            if event.fingerprint is not None:
                self._drawn.add(event.fingerprint)
            return ""
        if not isinstance(event, Forward) or not self.suspicion.covers(event.at) or event.fingerprint is None:
            return ""
        if event.fingerprint != self._input:
            self._input, self._drawn = event.fingerprint, set()
            return ""
        if len(self._drawn) >= THRICE:
            return f"{len(self._drawn)} different batches were drawn, and the model was given the same input each time"
        return ""
