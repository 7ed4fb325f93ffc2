"""Facts that several detectors ask for: derived from the events once, for all of them."""

from __future__ import annotations

from typing import ClassVar, TypeVar, cast

from premortem.events import Event


class Fact:
    """What is known so far about one thing. Built without arguments; a detector names it in `uses`."""

    LISTENS: ClassVar[tuple[type[Event], ...]]

    def observe(self, event: Event) -> None:
        raise NotImplementedError


Kind = TypeVar("Kind", bound=Fact)


class Facts:
    """The facts of one run."""

    def __init__(self) -> None:
        self._kept: dict[type[Fact], Fact] = {}

    def of(self, kind: type[Kind]) -> Kind:
        fact = self._kept.get(kind)
        if fact is None:
            fact = self._kept[kind] = kind()
        return cast("Kind", fact)
