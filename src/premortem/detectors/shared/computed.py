"""Numbers that are not finite and that the script made outside of a loss: what explains one that does harm."""

from premortem.detectors.shared.facts import Fact
from premortem.events import Event, NonFinite, NonFiniteComputed


class Computed(Fact):
    LISTENS = (NonFiniteComputed,)

    def __init__(self) -> None:
        self._first: NonFinite | None = None  # of those since the last step
        self._step = -1

    def observe(self, event: Event) -> None:
        if isinstance(event, NonFiniteComputed):
            seen = self._first is not None and self._first.watched
            if event.step != self._step or (event.origin.watched and not seen):
                self._first, self._step = event.origin, event.step

    def after(self, step: int) -> NonFinite | None:
        """The first that was made after this step and before the next; one that was seen at work goes first."""
        return self._first if step == self._step else None
