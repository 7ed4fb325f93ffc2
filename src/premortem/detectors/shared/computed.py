"""Numbers that are not finite and that the script made outside of a loss: what explains one that does harm."""

from dataclasses import replace

from premortem.detectors.shared.facts import Fact
from premortem.events import Event, NonFinite, NonFiniteComputed

MOST = 16  # lines that are remembered: more make such numbers on purpose


class Computed(Fact):
    LISTENS = (NonFiniteComputed,)

    def __init__(self) -> None:
        self._all: list[NonFinite] = []  # the first of each line
        self._first: NonFinite | None = None  # of those since the last step
        self._step = -1

    def observe(self, event: Event) -> None:
        if isinstance(event, NonFiniteComputed):
            if len(self._all) < MOST and event.at not in [each.at for each in self._all]:
                self._all.append(event.origin)
            seen = self._first is not None and self._first.watched
            if event.step != self._step or (event.origin.watched and not seen):
                self._first, self._step = event.origin, event.step

    @property
    def first(self) -> NonFinite | None:
        """The first of the run."""
        return self._all[0] if self._all else None

    def after(self, step: int) -> NonFinite | None:
        """The first that was made after this step and before the next; one that was seen at work goes first."""
        return self._first if step == self._step else None

    def explains(self, held: NonFinite) -> NonFinite | None:
        """What may have made a number that came in with the data: the only line that is known to have made one like it before."""
        made = [
            each for each in self._all if each.step <= held.step and (not held.made or each.made == held.made)
        ]
        if held.stage != "data" or len(made) != 1:
            return None
        return replace(made[0], rows=held.rows, samples=held.samples, source=held.source)
