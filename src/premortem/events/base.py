"""What every event is, and the line of the user's code that caused it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # known to type checkers alone

    def dataclass_transform(**_: Any) -> Any:
        return lambda decorator: decorator


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


Kind = TypeVar("Kind")


@dataclass_transform(kw_only_default=True, eq_default=False)
def event(kind: type[Kind]) -> type[Kind]:
    """A kind of events. How they are shown and compared is written once, in `Event`: to make these for each kind takes as long
    as all the rest of it, at the start of every run."""
    return dataclass(slots=True, kw_only=True, repr=False, eq=False, match_args=False)(kind)


@event
class Event:  # noqa: PLW1641 - what it holds need not have a hash
    """Something that happened at `step`, caused by the user's line `at`."""

    step: int = 0
    at: Site | None = None

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in fields(self))})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [f.name for f in fields(self)]
        return [getattr(self, name) for name in names] == [getattr(other, name) for name in names]

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
