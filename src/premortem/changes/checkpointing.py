"""Activation checkpoints: around repeated blocks, of the kind that is not reentrant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Memory, RunDescription, Time
from premortem.changes.batches import leaves
from premortem.changes.late import nn, torch

_REPEATED = 3  # blocks of one class, side by side


class Checkpointing(Change):
    """The repeated blocks of a model keep only their inputs and are run again in the backward pass."""

    name = "checkpointing"
    memory = Memory(
        title="checkpoint the repeated blocks (torch.utils.checkpoint, use_reentrant=False)",
        cost="about a third more time for each step",
    )

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        if run.checkpoints:
            return "the model uses checkpoints already"
        return "" if run.repeated_blocks else "the model repeats no block"

    def put_on(self) -> None:
        self._blocks: dict[int, bool] = {}
        self._inside = 0
        self.reach.on_call(self._call)

    def _call(self, call: Callable[..., Any], module: nn.Module, depth: int) -> Callable[..., Any]:
        if id(module) not in self._blocks:
            self._blocks.setdefault(id(module), False)
            self._blocks.update({id(block): True for block in repeated(module)})
        if self._inside or not self._blocks[id(module)]:
            return call
        return lambda *args, **kwargs: self._kept_small(call, *args, **kwargs)

    def _kept_small(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        from torch.utils.checkpoint import checkpoint

        if not torch.is_grad_enabled() or not leaves(args):
            return call(*args, **kwargs)
        self.touched += 1
        self._inside += 1
        try:
            return checkpoint(call, *args, use_reentrant=False, **kwargs)
        finally:
            self._inside -= 1


def repeated(module: nn.Module) -> list[nn.Module]:
    """Blocks of the same class in one list or sequence of this module, wherever they have parts of their own."""
    found: list[nn.Module] = []
    for part in module.modules():
        if isinstance(part, (nn.ModuleList, nn.Sequential)):
            # A list may have gaps.
            children = [child for child in list[Any](part) if isinstance(child, nn.Module)]
            children = [child for child in children if any(True for _ in child.children())]
            kinds = Counter(type(child) for child in children)
            found += [child for child in children if kinds[type(child)] >= _REPEATED]
    return found


class NonReentrant(Change):
    """`use_reentrant=False`: what torch recommends, stops the recomputation early, and compiles."""

    name = "non-reentrant-checkpoint"
    time = Time()

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        if not run.checkpoints:
            return "the model uses no checkpoints"
        return "" if run.reentrant else "its checkpoints are of that kind already"

    def put_on(self) -> None:
        from torch.utils import checkpoint

        self.reach.instead(checkpoint, "checkpoint", self._checkpoint)

    def _checkpoint(self, original: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        self.touched += 1
        return original(function, *args, **{**kwargs, "use_reentrant": False})

    def how(self) -> str:
        return "checkpoint(..., use_reentrant=False)"
