from __future__ import annotations

from collections import Counter
from typing import Any

from torch import Tensor, is_grad_enabled, nn
from torch.utils._pytree import tree_flatten
from torch.utils.checkpoint import checkpoint

from premortem.points import Subscriptions

_REPEATED = 3  # blocks of one class, side by side


class Checkpointing:
    """The repeated blocks of a model keep only their inputs and are run again in the backward pass."""

    name = "checkpointing"
    title = "checkpoint the repeated blocks (torch.utils.checkpoint, use_reentrant=False)"
    cost = "about a third more time for each step"

    @staticmethod
    def wanted(result: dict[str, Any]) -> bool:
        return bool(result["repeated_blocks"]) and not result["checkpointed"]

    @staticmethod
    def apply(points: Subscriptions) -> None:
        call = nn.Module.__call__
        blocks: dict[int, bool] = {}
        inside = 0

        def called(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            if id(module) not in blocks:
                blocks.setdefault(id(module), False)
                blocks.update({id(block): True for block in repeated(module)})
            given = [t for t in tree_flatten(args)[0] if isinstance(t, Tensor)]
            if inside or not blocks[id(module)] or not is_grad_enabled() or not given:
                return call(module, *args, **kwargs)
            inside += 1
            try:
                return checkpoint(call, module, *args, use_reentrant=False, **kwargs)
            finally:
                inside -= 1

        points.replace(nn.Module, "__call__", called)


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
