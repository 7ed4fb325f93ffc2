"""What stands for the things a pickle asks for: nothing here can do anything."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from premortem.errors import VaultError


@dataclass(frozen=True, slots=True)
class Named:
    """A name that the pickle asked for. It is never imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(eq=False, slots=True, repr=False)
class Opaque:
    """An object that was not made: its class, what it was given, and what it was filled with."""

    made_by: Named
    given: tuple[Any, ...] = ()
    state: Any = None
    items: list[Any] = field(default_factory=list)
    pairs: dict[Any, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<{self.made_by}>"  # what it holds may hold itself, many times

    # Lists and dicts of one's own class are filled through these.
    def append(self, item: Any) -> None:
        self.items.append(item)

    def extend(self, items: list[Any]) -> None:
        self.items.extend(items)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.pairs[key] = value


def sizes_of(sizes: Any, whose: str) -> tuple[int, ...]:
    """The shape or the strides of a tensor, as torch could have written them. Raises VaultError."""
    if (
        not isinstance(sizes, (tuple, list))
        or len(sizes) > 64  # torch has no tensor with more
        or not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 1 << 63 for n in sizes)
    ):
        raise VaultError(f"{whose} has a size that is none")
    return tuple(sizes)


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of a tensor whose elements lie one after the other."""
    return tuple(math.prod(shape[place + 1 :]) for place in range(len(shape)))


@dataclass(frozen=True, slots=True)
class Storage:
    """Bytes in the file that tensors are cut from."""

    key: str
    dtype: str
    elements: int


@dataclass(eq=False, slots=True)
class TensorStub:
    """A tensor that was not made."""

    storage: Storage | None  # None: there are no bytes, or they are not plainly laid out
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...] = ()
    offset: int = 0  # in elements
    parts: tuple[TensorStub, ...] = ()  # what a sparse or quantized tensor is made of
    note: str = ""
