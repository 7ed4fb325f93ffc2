"""What every event is, and the line of the user's code that caused it."""

from dataclasses import FrozenInstanceError, dataclass, fields
from typing import Any, NamedTuple


class Site(NamedTuple):
    """A line of the user's code."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}"


# A frozen dataclass takes four times as long to make, and one of another class at every isinstance, of which a step has
# hundreds. So the maker of an event fills it in, nothing changes it once it was sent, and the tests hold that: they seal it.
seals = False


@dataclass(slots=True, kw_only=True)
class Event:
    """Something that happened at `step`, caused by the user's line `at`."""

    step: int = 0
    at: Site | None = None

    def to_json(self) -> dict[str, Any]:
        return {"event": type(self).__name__, **{f.name: getattr(self, f.name) for f in fields(self)}}

    def seal(self) -> None:
        """It is sent now: whoever sets a field of it from here on gets an error."""
        kind = type(self)
        self.__class__ = _SEALED.get(kind) or sealed(kind)


_SEALED: dict[type[Event], type[Event]] = {}


def sent(kind: type[Event]) -> type[Event]:
    """The class that events of this kind have once they were sent."""
    return sealed(kind) if seals else kind


def sealed(kind: type[Event]) -> type[Event]:
    """The class of sent events of this kind: the same fields, none of which can be set."""

    def refuse(event: Event, name: str, *_: object) -> None:
        raise FrozenInstanceError(f"{kind.__name__}.{name} cannot be changed: the event was sent")

    if kind not in _SEALED:
        own: dict[str, Any] = {
            "__slots__": (),
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
        }
        own |= {"__setattr__": refuse, "__delattr__": refuse, "__deepcopy__": lambda event, _memo: event}
        # A changed copy, which `dataclasses.replace` makes, is a new event, which was not sent.
        own["__new__"] = lambda _sealed, **fields: kind(**fields)
        twin = type(kind.__name__, (kind,), own)
        _SEALED[kind] = _SEALED[twin] = twin
    return _SEALED[kind]
