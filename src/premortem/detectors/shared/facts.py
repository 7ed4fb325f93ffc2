"""Facts that several detectors ask for: derived from the events once, for all of them."""

from abc import ABC, abstractmethod
from typing import ClassVar, TypeVar

from premortem.events import Event


class Fact(ABC):
    """What is known so far about one thing. Built without arguments; a detector names it in `uses`."""

    LISTENS: ClassVar[tuple[type[Event], ...]]

    @abstractmethod
    def observe(self, event: Event) -> None: ...


Kind = TypeVar("Kind", bound=Fact)


class Facts(dict[type[Fact], Fact]):
    """The facts of one run, each made when it is first asked for."""

    def __missing__(self, kind: type[Fact]) -> Fact:
        fact = self[kind] = kind()
        return fact
