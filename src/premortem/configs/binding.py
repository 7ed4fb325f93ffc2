"""Plain data into the types of a dataclass, with every mistake noted."""

import dataclasses
import difflib
import enum
import os
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union

from premortem.amounts import is_number

Key = tuple[str, ...]
_SEQUENCES: dict[Any, Any] = {
    list: list,
    Sequence: tuple,
    Iterable: tuple,
    set: set,
    frozenset: frozenset,
    AbstractSet: frozenset,
}
_NOTHING = object()  # what could not be bound; the mistake is noted


class Mistake(NamedTuple):
    key: Key
    text: str


class Binder:
    """Binds as much as it can, so that all mistakes of a file are reported at once."""

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []

    def bind(self, value: Any, kind: Any, key: Key = ()) -> Any:
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if kind is Any or kind is object:
            return value
        if origin is typing.Annotated or origin is typing.Final:
            return self.bind(value, inner[0], key)
        if origin in {Union, types.UnionType}:
            return self._one_of(value, inner, key)
        if origin is Literal:
            return (
                value
                if any(value == each and type(value) is type(each) for each in inner)
                else self._wrong(value, kind, key)
            )
        if dataclasses.is_dataclass(kind):
            return self._dataclass(value, kind, key)
        if origin is tuple or kind is tuple:
            return self._tuple(value, inner, key)
        if (origin or kind) in _SEQUENCES:
            if not isinstance(value, list):
                return self._wrong(value, kind, key)
            each = inner[0] if inner else Any
            return _SEQUENCES[origin or kind](
                self.bind(item, each, (*key, str(place))) for place, item in enumerate(value)
            )
        if (origin or kind) in {dict, Mapping}:
            if not isinstance(value, dict):
                return self._wrong(value, kind, key)
            each = inner[1] if inner else Any
            return {name: self.bind(item, each, (*key, name)) for name, item in value.items()}
        return self._scalar(value, kind, key)

    def _scalar(self, value: Any, kind: Any, key: Key) -> Any:
        if not isinstance(kind, type):
            return value  # a type that only a type checker understands
        if issubclass(kind, enum.Enum):
            return self._member(value, kind, key)
        if issubclass(kind, os.PathLike) and isinstance(value, str):
            return Path(value) if kind is os.PathLike else typing.cast("type[Any]", kind)(value)
        if isinstance(value, bool):
            return value if kind is bool else self._wrong(value, kind, key)
        if kind is float and isinstance(value, int):
            return float(value)
        if kind is int and isinstance(value, float) and value.is_integer():
            return int(value)  # `steps: 1e5`
        return value if isinstance(value, kind) else self._wrong(value, kind, key)

    def _member(self, value: Any, kind: type[enum.Enum], key: Key) -> Any:
        if isinstance(value, str) and value in kind.__members__:
            return kind[value]
        try:
            return kind(value)
        except ValueError:
            return self._note(key, f"is {shown(value)}; the values are {', '.join(kind.__members__)}")

    def _one_of(self, value: Any, kinds: tuple[Any, ...], key: Key) -> Any:
        tried = []
        for kind in sorted(
            kinds, key=lambda kind: kind is not type(value)
        ):  # `int | float` of 1 stays an int
            trial = Binder()
            bound = trial.bind(value, kind, key)
            if not trial.mistakes:
                return bound
            tried.append(trial)
        # A mapping that was meant for a dataclass: what is wrong inside of it says more than that no kind fits.
        inside = [trial for trial in tried if any(mistake.key != key for mistake in trial.mistakes)]
        if len(inside) == 1:
            self.mistakes += inside[0].mistakes
            return _NOTHING
        return self._wrong(value, Union[kinds], key)  # noqa: UP007 - made of what was found

    def _tuple(self, value: Any, kinds: tuple[Any, ...], key: Key) -> Any:
        if not isinstance(value, list):
            return self._wrong(value, tuple, key)
        if not kinds:
            return tuple(value)
        if kinds[-1] is not Ellipsis and len(value) != len(kinds):
            return self._note(key, f"has {len(value)} items instead of {len(kinds)}")
        each = [kinds[0]] * len(value) if kinds[-1] is Ellipsis else kinds
        pairs = zip(value, each, strict=True)
        return tuple(self.bind(item, kind, (*key, str(place))) for place, (item, kind) in enumerate(pairs))

    def _dataclass(self, value: Any, kind: Any, key: Key) -> Any:
        if not isinstance(value, dict):
            return self._wrong(value, kind, key)
        try:
            hints = typing.get_type_hints(kind, include_extras=True)
        except NameError as error:
            raise TypeError(
                f"the types of {kind.__name__} cannot be looked up ({error}): define them at the top of a module"
            ) from None
        fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
        before = len(self.mistakes)
        self.unknown(value, fields, key)
        bound = {
            name: self.bind(value[name], hints.get(name, Any), (*key, name))
            for name in fields
            if name in value
        }
        for name, field in fields.items():
            has_default = (field.default, field.default_factory) != (dataclasses.MISSING, dataclasses.MISSING)
            if name not in value and not has_default:
                self._note(key, f"{name} is missing ({named(hints.get(name, Any))})")
        if len(self.mistakes) > before:
            return _NOTHING
        try:
            return kind(**bound)
        except (ValueError, TypeError) as error:  # of its __post_init__
            return self._note(key, str(error))

    def unknown(self, value: Mapping[str, Any], known: Iterable[str], key: Key) -> None:
        names = list(known)
        for name in value:
            if name not in names:
                near = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names) or 'none'}"
                self._note((*key, name), f"there is no such key; {hint}")

    def _wrong(self, value: Any, kind: Any, key: Key) -> Any:
        advice = ""
        if isinstance(value, str) and kind in {int, float} and is_number(value):
            advice = ": leave the quotes out"
        elif isinstance(value, str) and kind is bool:
            advice = (
                ": in YAML 1.2 only true and false are booleans"
                if value.lower() in {"yes", "no", "on", "off"}
                else ""
            )
        elif kind is str and isinstance(value, (int, float)):
            advice = ": put it in quotes"
        return self._note(key, f"is {shown(value)}, but must be {named(kind)}{advice}")

    def _note(self, key: Key, text: str) -> Any:
        self.mistakes.append(Mistake(key, text))
        return _NOTHING


def shown(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text {value[:60]!r}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, dict):
        return "a group of keys"
    return "a list" if isinstance(value, list) else str(value)


def named(kind: Any) -> str:
    """A type in the words of someone who writes a configuration."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in {Union, types.UnionType}:
        return " or ".join(named(each) for each in inner)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin is typing.Annotated or origin is typing.Final:
        return named(inner[0])
    if dataclasses.is_dataclass(kind):
        return "a group of keys"
    words: dict[Any, str] = {
        int: "a whole number", float: "a number", str: "text", bool: "true or false", type(None): "nothing",
        list: "a list", tuple: "a list", set: "a list", frozenset: "a list", Sequence: "a list", Iterable: "a list",
        dict: "a group of keys", Mapping: "a group of keys", Path: "a path", Any: "anything",
    }  # fmt: skip
    return words.get(origin or kind) or str(getattr(kind, "__name__", kind))
