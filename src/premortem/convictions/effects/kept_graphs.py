from premortem.convictions.effect import Effect
from premortem.events import Backward, Event, Suspicion

MANY = 12  # graphs in a row, each one more: a window of the last few losses is shorter


class KeptGraphs(Effect):
    """Each backward pass leaves one more graph in memory, as a total that adds up the losses themselves does."""

    listens = (Backward,)

    def __init__(self, suspicion: Suspicion) -> None:
        super().__init__(suspicion)
        self._before = 0
        self._row = 0

    def seen(self, event: Event) -> str:
        if not isinstance(event, Backward):
            return ""
        kept = max(event.alive, event.kept)
        self._row = self._row + 1 if kept > self._before else 0
        self._before = kept
        if self._row < MANY:
            return ""
        return f"{kept} graphs of past losses are still in memory, one more after each of the last {self._row} passes"
