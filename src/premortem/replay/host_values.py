"""Numbers that are in the memory of the host: plain ones, arrays of numpy's and pandas', tensors on the CPU."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import torch

from premortem.events import Operand
from premortem.probes import operation_words
from premortem.probes.operations import short

_MOST_VALUES = 1 << 24  # elements; larger arrays are not searched
_INSIDE = 64  # of a list or a dict, so many members are looked at
_DEEPEST = 3


def leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    """The numbers and arrays in a value."""
    if leaf_of(value):
        yield value
    elif type(value).__module__.startswith("pandas") and hasattr(value, "to_numpy"):
        yield from (column for column in columns(value) if leaf_of(column))
    elif isinstance(value, (list, tuple)) and depth < _DEEPEST:
        for each in (*value[:_INSIDE], *value[_INSIDE:][-1:]):
            yield from leaves(each, depth + 1)
    elif isinstance(value, dict) and depth < _DEEPEST:
        yield from leaves(list(value.values()), depth)


def columns(value: Any) -> Iterator[Any]:
    if getattr(value, "ndim", 1) == 1:
        yield value.to_numpy()
        return
    for place in range(min(value.shape[1], _INSIDE)):
        yield value.iloc[:, place].to_numpy()


def leaf_of(value: Any) -> bool:
    if isinstance(value, float):
        return True
    if isinstance(value, torch.Tensor):
        strided = value.layout == torch.strided and value.device.type == "cpu"
        return (
            strided
            and type(value) is torch.Tensor
            and value.is_floating_point()
            and 0 < value.numel() <= _MOST_VALUES
        )
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return (
        kind in "fc" and bool(kind) and type(value).__module__ == "numpy" and 0 < value.size <= _MOST_VALUES
    )


def worst(value: Any) -> str:
    """Of a number, or an array of numpy's."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    flat = value.reshape(-1)
    broken = flat[~sys.modules["numpy"].isfinite(flat)]
    if not broken.size:
        return ""
    if bool(sys.modules["numpy"].isnan(broken).any()):
        return "nan"
    return "inf" if bool((broken.real == math.inf).any()) else "-inf"


def address(value: Any) -> int:
    """Of the memory that an array and a tensor made of it share; 0 for plain numbers."""
    if isinstance(value, torch.Tensor):
        return int(value.data_ptr()) if leaf_of(value) else 0
    held = (
        getattr(value, "__array_interface__", None)
        if leaf_of(value) and bool(getattr(value, "ndim", False))
        else None
    )
    return int(held["data"][0]) if held else 0


def operand_of(value: Any) -> Operand | None:
    if isinstance(value, float):
        return Operand("", "float", (), value, value)
    if isinstance(value, torch.Tensor):
        return Operand("", short(value.dtype), tuple(value.shape), *operation_words.bounds(value))
    sizes = abs(value) if value.dtype.kind == "c" else value
    return Operand("", str(value.dtype), tuple(value.shape), float(sizes.min()), float(sizes.max()))
