"""The tensors in what is handed over."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor


def tensors(value: Any, depth: int = 8) -> Iterator[Tensor]:
    """Those in lists, dictionaries, and the fields of dataclasses such as model outputs."""
    if isinstance(value, Tensor):
        yield value
    elif not depth or isinstance(value, (str, bytes, type)):
        return
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors(item, depth - 1)
    elif isinstance(value, Sequence):
        for item in value:
            yield from tensors(item, depth - 1)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from tensors(getattr(value, name, None), depth - 1)
