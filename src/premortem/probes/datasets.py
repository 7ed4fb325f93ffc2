"""The arrays a dataset holds: whether they change where they lie, and who writes them.

A dataset that draws new arrays for each epoch made a choice; arrays that drift away from what they were,
written by the code that makes batches, are an accident.
"""

import math
import random
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from premortem.events import Array
from premortem.probes.sampling import stride_over
from premortem.probes.session import sampled, version

_SAMPLE = 512
_GLANCE = 64
_MOST_ARRAYS = 8
_EPOCHS_FOLLOWED = 6  # how long it is followed who writes
_MOST_GLANCES = 4096


class Kept:
    """One array: what it was when first seen, and by whom it was written since."""

    def __init__(self, name: str, value: Any, key: int) -> None:
        self.name = name
        self.key = key
        self.value = weakref.ref(value)
        self.first = values_of(value, _SAMPLE)
        self.spread = spread(self.first)
        self.mark = glance(value)
        self.inside = 0
        self.outside = 0

    def now(self, value: Any) -> Array:
        current = values_of(value, _SAMPLE)
        pairs = zip(current, self.first, strict=False)
        changes = [abs(a - b) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
        change = math.fsum(changes) / max(1, len(changes))
        return Array(
            self.name,
            change / self.spread if self.spread else 0.0,
            spread(current),
            self.inside > 0 and self.inside >= self.outside,
            self.key,
        )

    def looked_at(self, *, inside: bool) -> None:
        value = self.value()
        if value is None:
            return
        mark = glance(value)
        if mark != self.mark:
            self.mark = mark
            self.inside += inside
            self.outside += not inside


class Datasets:
    def __init__(self) -> None:
        self._kept: dict[int, Kept] = {}
        self._glances = 0

    def epoch_starts(self, dataset: Any) -> tuple[Array, ...]:
        found = []
        for name, value in arrays_of(dataset):
            kept = self._kept.get(id(value))
            if kept is None or kept.value() is not value:
                kept = self._kept[id(value)] = Kept(name, value, len(self._kept) + 1)
            kept.looked_at(inside=False)
            found.append(kept.now(value))
        return tuple(found)

    def follow(self, dataset: Any, epochs: int) -> list[Kept]:
        """The arrays to look at around each batch of an epoch."""
        if epochs > _EPOCHS_FOLLOWED or self._glances > _MOST_GLANCES:
            return []
        return [self._kept[id(value)] for _, value in arrays_of(dataset) if id(value) in self._kept]

    def around_batch(self, followed: Iterable[Kept], *, inside: bool) -> None:
        for kept in followed:
            self._glances += 1
            kept.looked_at(inside=inside)


class Slices:
    """Batches that are cut from one large tensor, without a DataLoader."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Kept, list[int]]] = {}

    def used(self, piece: torch.Tensor) -> Array | None:
        """When cutting starts again from the front, and the tensor was written since the last time."""
        whole: torch.Tensor | None = piece._base
        if whole is None or whole.device.type != "cpu" or not whole.is_floating_point():
            return None
        known, offset, writes = self._kept.get(id(whole)), int(piece.storage_offset()), version(whole)
        if known is None or known[0].value() is not whole:
            if len(self._kept) < _GLANCE:
                self._kept[id(whole)] = (Kept("", whole, -len(self._kept) - 1), [offset, writes])
            return None
        kept, last = known
        restarts, last[0] = offset < last[0], offset
        if not restarts or writes == last[1]:
            return None
        last[1] = writes
        return kept.now(whole)._replace(inside=True)


def arrays_of(dataset: Any, depth: int = 0) -> list[tuple[str, Any]]:
    """(attribute, tensor or numpy array); of a list of tensors, the first one stands for all."""
    found: list[tuple[str, Any]] = []
    for name, value in getattr(dataset, "__dict__", {}).items():
        if is_array(value):
            found.append((name, value))
        elif isinstance(value, (list, tuple)):
            firsts = (item[0] if isinstance(item, (list, tuple)) and item else item for item in value[:4])
            found += [(name, first) for first in firsts if is_array(first) or is_sample(first)]
        if name in ("dataset", "datasets") and depth < 3:  # Subset, ConcatDataset, wrappers
            for inner in value[:4] if isinstance(value, (list, tuple)) else (value,):
                found += arrays_of(inner, depth + 1)
    return found[:_MOST_ARRAYS]


def is_array(thing: Any) -> bool:
    # A row of numbers may be anybody's bookkeeping (visits, weights); samples have more than one.
    if getattr(thing, "ndim", 0) < 2:
        return False
    if isinstance(thing, torch.Tensor):
        on_cpu = thing.device.type == "cpu" and thing.layout == torch.strided
        return on_cpu and thing.numel() > 1 and not thing.is_complex()
    return type(thing).__name__ == "ndarray" and thing.size > 1 and thing.dtype.kind in "fiu"


def is_sample(thing: Any) -> bool:
    """One sample out of a list of samples."""
    return (
        isinstance(thing, torch.Tensor)
        and thing.device.type == "cpu"
        and thing.is_floating_point()
        and thing.numel() > 8
    )


def values_of(value: Any, most: int) -> list[float]:
    if isinstance(value, torch.Tensor):
        return sampled(value, most)
    flat = value.reshape(-1)
    return [float(v) for v in flat[:: stride_over(flat.size, most)][:most].tolist()]


def glance(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return version(value), tuple(sampled(value, _GLANCE))
    flat = value.reshape(-1)
    return flat[:: stride_over(flat.size, _GLANCE)][:_GLANCE].tobytes()


def spread(values: list[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < 2:
        return 0.0
    mean = math.fsum(finite) / len(finite)
    return math.dist(finite, [mean] * len(finite)) / math.sqrt(len(finite))


# --- random generators that every worker gets a copy of --------------------------------------


def generators_in(dataset: Any, depth: int = 0) -> tuple[str, ...]:
    """Names of the generators that the dataset's own fetching code draws from."""
    inner = getattr(dataset, "dataset", None)
    below = generators_in(inner, depth + 1) if inner is not None and depth < 3 else ()
    held = {name for name, value in getattr(dataset, "__dict__", {}).items() if is_generator(value)}
    names: list[str] = []
    for function in fetching(type(dataset)):
        spoken = set(names_in(function.__code__))
        names += [f"self.{name}" for name in sorted(held & spoken)]
        names += [name for name in sorted(spoken) if is_generator(function.__globals__.get(name))]
    return (*dict.fromkeys(names), *below)


def fetching(kind: type) -> Iterator[types.FunctionType]:
    """`__getitem__` and the methods of the same class that it calls."""
    for name in ("__getitem__", "__getitems__", "__iter__"):
        function = getattr(kind, name, None)
        if isinstance(function, types.FunctionType):
            yield function
            for called in names_in(function.__code__):
                helper = getattr(kind, called, None)
                if isinstance(helper, types.FunctionType):
                    yield helper


def names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)


def is_generator(value: Any) -> bool:
    kind = type(value)
    return isinstance(value, (torch.Generator, random.Random)) or (
        kind.__name__ in ("Generator", "RandomState") and kind.__module__.startswith("numpy.random")
    )
