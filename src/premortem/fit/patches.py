"""Attributes of torch that are replaced for a while."""

from __future__ import annotations

from typing import Any

_NOTHING = object()


class Patches:
    """Attributes that are replaced, and put back in the end."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, value: Any) -> None:
        self._before.append((owner, name, vars(owner).get(name, _NOTHING)))
        setattr(owner, name, value)

    def undo(self) -> None:
        while self._before:
            owner, name, value = self._before.pop()
            if value is _NOTHING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


def nothing(*_: Any, **__: Any) -> None:
    return None
