"""Gradients that `autograd.grad` gave without a graph, weights that were read without theirs, and what is computed of them: a number
that is added to a loss and trains nothing.

A gradient penalty or a force needs `create_graph=True`, a penalty on weights the weights themselves, and not their `data`. Without that
it is a number like any other, and torch adds it to a loss without a word.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from premortem.events import Site
from premortem.tensors.memory import storage

_SUMS = frozenset({"add", "sub", "rsub"})
# What leaves the gradient of each term of a sum as it was, but for a factor
_LINEAR = frozenset({*_SUMS, "neg", "mul", "div", "sum", "mean", "squeeze", "view", "clone"})


class PlainGradients:
    """Known by their memory, as all that one step computes of them. The weak reference keeps its number from being given away."""

    sums = _SUMS

    def __init__(self) -> None:
        self._made: dict[int, tuple[StorageWeakRef, Site]] = {}
        self._sums: dict[int, tuple[StorageWeakRef, Site]] = {}  # with another term that has a graph

    def given(self, gradients: Iterable[torch.Tensor], at: Site) -> None:
        for gradient in gradients:
            _note(self._made, gradient, at)

    def followed(self, op: str, operands: list[torch.Tensor], made: list[torch.Tensor]) -> None:
        """An operation of the script's, with gradients enabled."""
        if not self._made or not made:
            return
        plain = [each for each in operands if not each.requires_grad and storage(each) in self._made]
        taught = [each for each in operands if each.requires_grad]
        if plain and not taught:
            for each in made if self.is_of(plain, operands) else ():
                _note(self._made, each, self._made[storage(plain[0])][1])
        elif all(each.numel() == 1 for each in (*operands, *made)) and self.keeps(op, operands):
            at = self.at(taught)
            if at is None and op in self.sums and plain and not taught[0].is_leaf:
                at = self._made[storage(plain[0])][1]
            if at is not None:
                _note(self._sums, made[0], at)

    def is_of(self, plain: list[torch.Tensor], operands: list[torch.Tensor]) -> bool:
        """Whether what is made of these is of their kind."""
        return True

    def keeps(self, op: str, operands: list[torch.Tensor]) -> bool:
        """Whether what is made of a sum says of its terms what the sum did."""
        return True

    def at(self, tensors: Iterable[torch.Tensor]) -> Site | None:
        """Where that was given of which a number was added to one of these."""
        found = (self._sums.get(storage(each)) for each in tensors if self._sums)
        return next((known[1] for known in found if known is not None), None)


class PlainWeights(PlainGradients):
    """The same of weights, and of what is computed of nothing else: a target that a frozen copy computes is no penalty. What is
    subtracted may be where a penalty began, and a square of a loss depends on all its terms."""

    sums = frozenset({"add"})

    def is_of(self, plain: list[torch.Tensor], operands: list[torch.Tensor]) -> bool:
        kin = {id(each) for each in plain}
        return all(id(each) in kin or each.numel() == 1 for each in operands)

    def keeps(self, op: str, operands: list[torch.Tensor]) -> bool:
        taught = [each.requires_grad for each in operands]
        if op in {"mul", "div"} and sum(taught) != 1:
            return False
        return op in _LINEAR and (op != "div" or taught[0])


def _note(into: dict[int, tuple[StorageWeakRef, Site]], tensor: torch.Tensor, at: Site) -> None:
    into[storage(tensor)] = (StorageWeakRef(tensor.untyped_storage()), at)
