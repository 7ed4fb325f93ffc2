"""The samples of a batch, whatever it is made of."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from premortem.changes.late import torch

_PLAIN = (str, int, float, bool, type(None))


def rows(thing: Any) -> int:
    """How many samples a batch has: the most common first size of its tensors."""
    sizes = [t.shape[0] for t in leaves(thing) if t.dim()]
    return max(set(sizes), key=lambda size: (sizes.count(size), size)) if sizes else 0


def leaves(thing: Any) -> list[torch.Tensor]:
    if isinstance(thing, torch.Tensor):
        return [thing]
    if isinstance(thing, (list, tuple)):
        return [leaf for item in thing for leaf in leaves(item)]
    if isinstance(thing, Mapping):
        return [leaf for item in thing.values() for leaf in leaves(item)]
    return []


def keep_rows(thing: Any, size: int, chosen: list[int]) -> Any:
    """The batch with only these samples, repeated until it has its old size: no shape changes."""
    index = [chosen[i % len(chosen)] for i in range(size)]
    for i in chosen:
        index[i] = i  # a sample that stays keeps its place
    return take(thing, size, index)


def take(thing: Any, size: int, index: list[int]) -> Any:
    """The batch with its samples in this order."""

    def taken(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.dim() or tensor.shape[0] != size:
            return tensor
        return tensor[torch.tensor(index, device=tensor.device)]

    if isinstance(thing, list) and len(thing) == size and all(isinstance(item, _PLAIN) for item in thing):
        return [thing[i] for i in index]
    return mapped(thing, taken, lambda item: take(item, size, index))


def mapped(
    thing: Any, change: Callable[[torch.Tensor], torch.Tensor], inner: Callable[[Any], Any] | None = None
) -> Any:
    """A copy of a nest of tensors with each of them changed."""
    deeper = inner or (lambda item: mapped(item, change))
    if isinstance(thing, torch.Tensor):
        return change(thing)
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return type(thing)(*map(deeper, thing))
    if isinstance(thing, (list, tuple)):
        return type(thing)(map(deeper, thing))
    if isinstance(thing, Mapping):
        made = copy.copy(thing)
        for key, item in thing.items():
            made[key] = deeper(item)  # type: ignore[index]
        return made
    return thing
