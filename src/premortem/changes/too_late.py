"""A change that is put on in the middle of a script: does it come too late there?

`note` puts it on without a trace and notes where it would lie. It is too late where the script has made one of these calls
already, or holds as it was what the change would replace.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from types import ModuleType
from typing import Any

from premortem.changes.base import Change
from premortem.points import Subscriptions
from premortem.points.point import Point, point

Place = tuple[Any, str]  # an owner, and a name


class Noted(Subscriptions):
    """What a change would subscribe to. Nothing is put anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[Place] = []
        self.replacements: list[Place] = []

    def add(self, owner: Any, name: str, *_: Any, **__: Any) -> Point:
        self.places.append((owner, name))
        return point(owner, name)

    def replace(self, owner: Any, name: str, value: Any) -> None:
        self.replacements.append((owner, name))

    def comes_too_late(self, called: Collection[tuple[int, str]] = (), building: Any = None) -> bool:
        """`called` has the places that the script has called, by the id of the owner; `building` is a class whose instance
        it is building now."""
        return any((id(owner), name) in called for owner, name in self.places) or any(
            _held(owner, getattr(owner, name), building) for owner, name in self.replacements
        )


def note(make: Callable[[Subscriptions], Iterable[Change]]) -> Noted:
    """`make` the changes, with where they are to subscribe."""
    noted = Noted()
    for change in make(noted):
        try:
            change.put_on()
        finally:
            change.reach.end()
    return noted


def _held(owner: Any, thing: Any, building: Any) -> bool:
    """By a name of a module other than the owner's own. What is an attribute of a class is looked up there by everybody."""
    if thing is building:
        return True
    if not isinstance(owner, ModuleType):
        return False
    family = owner.__name__.partition(".")[0]
    return any(
        any(value is thing for value in list(getattr(module, "__dict__", {}).values()))
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] not in {family, "premortem"}
    )
