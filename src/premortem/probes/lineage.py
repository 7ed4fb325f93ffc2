"""Which values descend from which: a non-finite result is only a fault when it arrives where it does harm."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from premortem.events import NonFinite
from premortem.probes import operation_words
from premortem.probes.operations import readable
from premortem.tensors.memory import storage

_MOST_CANDIDATES = 256
# They make finite numbers of infinity: 1/inf is 0, and looks like any other 0.
_ABSORBING = frozenset(
    "div reciprocal rsqrt exp exp2 expm1 sigmoid tanh softmax atan atan2 erf erfc pow".split()
)


# Of these the 0 is wrong: the true result is small, and not nothing. (exp(-inf) is 0 as exp(-70000) is.)
_LOSING = frozenset({"div", "reciprocal", "rsqrt"})


# They replace what is not finite, and nothing else.
_HIDING = frozenset({"nan_to_num", "fmin", "fmax", "nansum", "nanmean"})
# They replace infinity among others. (NaN stays NaN.)
_BOUNDING = frozenset({"clamp", "clamp_min", "clamp_max", "minimum", "maximum"})
# They replace, or leave out, what a mask says.
_BY_MASK = frozenset(
    {
        "where",
        "masked_fill",
        "index_put",
        "_index_put_impl",
        "index",
        "masked_select",
        "masked_scatter",
        "mul",
    }
)
# At 0 these are infinite, and who replaces that knows it: the inverse degree of a node without neighbours.
_POLES = frozenset({"div", "reciprocal", "rsqrt", "pow", "log", "log2", "log10", "log1p"})


class Candidate(NamedTuple):
    """A value that is not finite and that no other such value explains."""

    event: NonFinite
    constant: bool = False  # it is meant to be so
    trained: bool = False  # made of what gets gradients

    @property
    def computed(self) -> bool:
        """An operation made it of finite numbers, and not at a pole of plain data."""
        if self.constant or self.event.stage not in ("forward", "backward"):
            return False
        return self.trained or self.event.made == "nan" or self.event.op not in _POLES

    @property
    def too_large(self) -> bool:
        """Arithmetic made it too large for its type: of what gets gradients, or of any numbers in 16 bits, where data overflow too. (A bound
        that is cast to infinity is meant.)"""
        return self.trained or (self.event.dtype == "float16" and self.event.op != "to")


class Lineage:
    """Candidates, and the memory that their descendants live in: so views and in-place writes are covered."""

    def __init__(self) -> None:
        self.candidates: list[Candidate] = []
        # The weak reference keeps the number from being given to other memory.
        self._memory: dict[int, tuple[StorageWeakRef, frozenset[int]]] = {}
        self._empty: dict[int, StorageWeakRef] = {}
        # Finite memory, computed from numbers that were too large for their type.
        self._absorbed: dict[int, tuple[StorageWeakRef, frozenset[int]]] = {}
        self._lost: set[int] = set()  # candidates that a division made 0 of
        # Masks that were made by asking which values are finite,
        self._asked: dict[int, tuple[StorageWeakRef, frozenset[int]]] = {}
        # ... and finite memory in which such values were replaced, with the operation that did it.
        self._hidden: dict[int, tuple[StorageWeakRef, frozenset[tuple[int, str]]]] = {}

    def __bool__(self) -> bool:
        return bool(self._memory or self._absorbed or self._hidden)

    def register(self, event: NonFinite, *, constant: bool = False, trained: bool = False) -> int:
        if len(self.candidates) < _MOST_CANDIDATES:
            self.candidates.append(Candidate(event, constant, trained))
        return len(self.candidates) - 1

    def constants(self, numbers: Iterable[int]) -> bool:
        return all(self.candidates[number].constant for number in numbers)

    def of(self, tensor: torch.Tensor) -> frozenset[int] | None:
        known = self._memory.get(storage(tensor))
        return known[1] if known is not None else None

    def passed_on(self, candidates: Iterable[int], tensor: torch.Tensor) -> None:
        """What was written to this tensor descends from these."""
        memory, new = tensor.untyped_storage(), frozenset(candidates)
        old = self._memory.get(memory._cdata)
        if old is not None and not fills(tensor):
            new |= old[1]
        self._memory[memory._cdata] = (StorageWeakRef(memory), new)

    def ended(self, tensor: torch.Tensor) -> None:
        """What was written here is finite."""
        if fills(tensor):
            self._memory.pop(storage(tensor), None)

    def followed(self, op: str, operands: Iterable[torch.Tensor], made: Iterable[torch.Tensor]) -> None:
        """A finite result. An overflow that vanished in it may still show: as a logarithm of 0, a division by 0."""
        numbers: set[int] = set()
        for operand in operands:
            key = storage(operand)
            if key in self._absorbed:
                numbers |= self._absorbed[key][1]
            if op in _ABSORBING and key in self._memory:
                known = self._memory[key][1]
                large = {number for number in known if self.candidates[number].event.overflow}
                numbers |= large
                if op in _LOSING:
                    self._lost |= {number for number in large if self.candidates[number].too_large}
        for tensor in made if numbers else ():
            memory = tensor.untyped_storage()
            self._absorbed[memory._cdata] = (StorageWeakRef(memory), frozenset(numbers))

    def masked(self, op: str, operands: Iterable[torch.Tensor], made: Iterable[torch.Tensor]) -> None:
        """A finite result, or a mask. Where a mask asks which values are finite, what it replaces is hidden."""
        keys = [storage(operand) for operand in operands]
        broken = {number for key in keys if key in self._memory for number in self._memory[key][1]}
        asked = {number for key in keys if key in self._asked for number in self._asked[key][1]}
        hidden = {pair for key in keys if key in self._hidden for pair in self._hidden[key][1]}
        if op in _HIDING or op in _BOUNDING:
            hidden |= {(number, op) for number in broken}
        elif op in _BY_MASK and asked:
            hidden |= {(number, op) for number in broken & asked}
        for tensor in made:
            memory = tensor.untyped_storage()
            if tensor.dtype == torch.bool and (broken or asked):
                self._asked[memory._cdata] = (StorageWeakRef(memory), frozenset(broken | asked))
            elif hidden and tensor.is_floating_point():
                self._hidden[memory._cdata] = (StorageWeakRef(memory), frozenset(hidden))

    def hidden(self, tensors: Iterable[torch.Tensor]) -> tuple[NonFinite, str] | None:
        """The first computed value that was replaced on the way to these, which are finite, and the operation that did it."""
        held = (self._hidden.get(storage(tensor)) for tensor in tensors)
        found = sorted(
            pair
            for known in held
            if known is not None
            for pair in known[1]
            if self.candidates[pair[0]].computed
        )
        return (self.candidates[found[0][0]].event, found[0][1]) if found else None

    def behind(self, operands: Iterable[torch.Tensor]) -> set[int]:
        """The overflows that these finite numbers were computed from."""
        known = (self._absorbed.get(storage(operand)) for operand in operands)
        return {number for held in known if held is not None for number in held[1]}

    def lost(self) -> NonFinite | None:
        """The first that became 0 in a division."""
        return self.candidates[min(self._lost)].event if self._lost else None

    def allocated(self, tensor: torch.Tensor) -> None:
        """Memory without a content: whatever is in it was there before."""
        self._empty[storage(tensor)] = StorageWeakRef(tensor.untyped_storage())

    def unfilled(self, tensor: torch.Tensor) -> bool:
        return storage(tensor) in self._empty

    def prune(self) -> None:
        """A step is over: only what still lives can harm a later one."""
        self._absorbed, self._lost, self._asked, self._hidden = {}, set(), {}, {}
        living = {key: held for key, held in self._memory.items() if not held[0].expired()}
        used = sorted({number for _, numbers in living.values() for number in numbers})
        renumbered = {old: new for new, old in enumerate(used)}
        self.candidates = [self.candidates[number] for number in used]
        self._memory = {
            key: (reference, frozenset(renumbered[number] for number in numbers))
            for key, (reference, numbers) in living.items()
        }
        self._empty = {key: reference for key, reference in self._empty.items() if not reference.expired()}

    def living(self) -> dict[int, tuple[StorageWeakRef, NonFinite]]:
        """Memory that values which an operation made live on in, and what bore the first of them."""
        found = {}
        for key, (reference, numbers) in self._memory.items():
            made = [self.candidates[n].event for n in sorted(numbers) if not self.candidates[n].constant]
            made = [event for event in made if event.stage in ("forward", "backward", "update")]
            if made and not reference.expired():
                found[key] = (reference, made[0])
        return found

    def chosen(self, candidates: Iterable[int]) -> NonFinite | None:
        """The earliest; what is meant to be infinite only when there is nothing else."""
        ranked = sorted(candidates, key=lambda number: (self.candidates[number].constant, number))
        return self.candidates[ranked[0]].event if ranked else None

    def origin(self, tensors: Iterable[torch.Tensor]) -> NonFinite | None:
        """What the non-finite ones among these go back to."""
        broken = (t for tensor in tensors for t in readable(tensor) if not operation_words.finite(t))
        return self.chosen({number for t in broken for number in self.of(t) or ()})


def fills(tensor: torch.Tensor) -> bool:
    """It is all there is in its memory."""
    return tensor.numel() * tensor.element_size() >= tensor.untyped_storage().nbytes()
