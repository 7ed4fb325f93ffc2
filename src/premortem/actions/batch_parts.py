"""A batch in parts: what is cut, how the outputs are put together, and how a part is run without being kept."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as tree
from torch.utils.checkpoint import checkpoint

Call = Callable[..., Any]


class Unlike(Exception):  # noqa: N818 - reads as what it says
    """Outputs that cannot be put together; its text says why."""


class Given:
    """The arguments of a call, cut along the first dimension of its tensors."""

    def __init__(self, args: Any, kwargs: Any) -> None:
        self.leaves, self.form = tree.tree_flatten((args, kwargs))
        self._measure()

    def _measure(self) -> None:
        tensors = [leaf for leaf in self.leaves if isinstance(leaf, torch.Tensor) and not leaf.is_nested]
        self.samples = next((int(tensor.shape[0]) for tensor in tensors if tensor.dim()), 0)
        self.size = sum(tensor.numel() for tensor in tensors[:8])

    def cut(self, start: int, stop: int) -> Given:
        leaves = [leaf[start:stop] if self._has_samples(leaf) else leaf for leaf in self.leaves]
        return self._like(leaves)

    def others(self, own: int) -> Given:
        """The same first samples, and others after them: those that came first, once more."""
        order = torch.arange(self.samples)
        order[own:] = torch.arange(self.samples - own) % own
        leaves = [leaf[order.to(leaf.device)] if self._has_samples(leaf) else leaf for leaf in self.leaves]
        return self._like(leaves)

    def _has_samples(self, leaf: Any) -> bool:
        if not isinstance(leaf, torch.Tensor) or leaf.is_nested:
            return False
        return leaf.dim() > 0 and leaf.shape[0] == self.samples

    def _like(self, leaves: list[Any]) -> Given:
        other = Given.__new__(Given)
        other.leaves, other.form = leaves, self.form
        other._measure()
        return other

    def call(self, run: Call) -> Any:
        args, kwargs = tree.tree_unflatten(self.leaves, self.form)
        return run(*args, **kwargs)

    def call_again_in_backward(self, run: Call) -> Any:
        """Nothing is kept of it but its inputs and its result."""
        places = [index for index, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]

        def again(*tensors: torch.Tensor) -> Any:
            leaves = list(self.leaves)
            for index, tensor in zip(places, tensors, strict=True):
                leaves[index] = tensor
            args, kwargs = tree.tree_unflatten(leaves, self.form)
            return run(*args, **kwargs)

        # The tensors are handed over, not only closed over: the generators of their devices are what must be restored.
        return checkpoint(again, *(self.leaves[index] for index in places), use_reentrant=False)


def borders(samples: int, parts: int) -> Iterator[tuple[int, int]]:
    """As even as can be, none empty."""
    edges = [samples * part // parts for part in range(parts + 1)]
    yield from itertools.pairwise(edges)


def run_in_parts(run: Call, given: Given, parts: int) -> Any:
    outputs, sizes = [], []
    for start, stop in borders(given.samples, parts):
        part = given.cut(start, stop)
        outputs.append(part.call_again_in_backward(run) if torch.is_grad_enabled() else part.call(run))
        sizes.append(stop - start)
    return join(outputs, sizes)


def rehearse(run: Call, part: Given, weights: list[torch.Tensor]) -> None:
    """Forward and backward of one part, whose results are not kept: raises if there is no memory for it."""
    output = part.call(run)
    made = [
        leaf for leaf in tree.tree_leaves(output) if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    ]
    if made and weights:
        torch.autograd.grad(made, weights, [torch.ones_like(each) for each in made], allow_unused=True)


def join(outputs: list[Any], sizes: list[int]) -> Any:
    """Rows are put together; a number is taken for a mean over the samples (whether it is one is tried out)."""
    flat = [tree.tree_flatten(output) for output in outputs]
    form = flat[0][1]
    if any(other != form for _, other in flat):
        raise Unlike("its parts return different things")
    joined = [_joined(list(leaves), sizes) for leaves in zip(*(leaves for leaves, _ in flat), strict=True)]
    return tree.tree_unflatten(joined, form)


def _joined(leaves: list[Any], sizes: list[int]) -> Any:
    first = leaves[0]
    if not isinstance(first, torch.Tensor):
        if first is None or (
            isinstance(first, (bool, int, float, str)) and leaves.count(first) == len(leaves)
        ):
            return first
        raise Unlike(f"it returns a {type(first).__name__}, which cannot be put together")
    if is_mean(first):
        total = sum(sizes)
        return sum((leaf * (size / total) for leaf, size in zip(leaves, sizes, strict=True)), leaves[0] * 0)
    if first.dim() and all(leaf.shape[0] == size for leaf, size in zip(leaves, sizes, strict=True)):
        return torch.cat(leaves)
    raise Unlike("it returns a tensor that has no dimension for the samples")


def is_mean(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.dim() == 0 and leaf.is_floating_point()
