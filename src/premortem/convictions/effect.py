"""What every effect is: a small state machine over events, for one suspicion."""

from abc import ABC, abstractmethod
from typing import ClassVar

from premortem.events import Event, Suspicion

# The same thing at one line so often is no accident of one batch.
THRICE = 3


class Effect(ABC):
    """Built for one suspicion; `seen` says, in a few words, what the run did that only the suspected mistake does."""

    listens: ClassVar[tuple[type[Event], ...]]

    def __init__(self, suspicion: Suspicion) -> None:
        self.suspicion = suspicion

    @abstractmethod
    def seen(self, event: Event) -> str:
        """What convicts, as a sentence without its full stop; "" as long as there is nothing."""
