from premortem.convictions.effect import Effect
from premortem.events import Backward, Event, OptimizerStep, Suspicion


class SwallowedFailure(Effect):
    """A backward pass raised, and the loop went on as if nothing had happened."""

    listens = (Backward, OptimizerStep)

    def __init__(self, suspicion: Suspicion) -> None:
        super().__init__(suspicion)
        self._error = ""

    def seen(self, event: Event) -> str:
        if not isinstance(event, Backward):
            return ""
        if self._error:
            return f"a backward pass raised `{self._error}`, and the loop went on with the next batch"
        if event.error and event.at is not None and event.at.file == self.suspicion.file:
            self._error = event.error.splitlines()[0]
        return ""
