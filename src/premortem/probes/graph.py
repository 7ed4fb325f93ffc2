"""The autograd graph under a loss: what it leads to, and how the loss was put together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from premortem.events import Broadcast

_MOST_NODES = 50_000
_OUTPUT = "premortem: a model's output"
# Nodes that only rearrange: looking for what made a value, one looks through them.
_REARRANGING = frozenset(
    "View Reshape ReshapeAlias UnsafeView Squeeze Unsqueeze Transpose Permute T Slice Select ToCopy Clone "
    "Alias Expand Unbind Split Cat Stack Flatten Index Contiguous".split()
)
_ELEMENTWISE = frozenset(
    "Sub Rsub Add Mul Div MseLoss L1Loss SmoothL1Loss HuberLoss Pow BinaryCrossEntropy "
    "BinaryCrossEntropyWithLogits SoftMarginLoss Minimum Maximum".split()
)
_CRITERIA = frozenset(
    "NllLoss NllLossNd NllLoss2D CrossEntropyLoss MseLoss L1Loss SmoothL1Loss HuberLoss BinaryCrossEntropy "
    "BinaryCrossEntropyWithLogits KlDiv".split()
)


class Tag:
    """Lives as long as the graph node it is put on (nodes carry a metadata dict)."""

    __slots__ = ("__weakref__",)


def mark_output(tensor: torch.Tensor) -> None:
    """Note on the graph itself that a model ended here: the mark lives and dies with the node."""
    if tensor.grad_fn is not None:
        tensor.grad_fn.metadata[_OUTPUT] = True


def is_output(node: Any) -> bool:
    return _OUTPUT in node.metadata


def name_of(node: Any) -> str:
    """"MseLossBackward0" -> "MseLoss"."""
    name: str = node.name()
    return name.rpartition("::")[2].rstrip("0123456789").removesuffix("Backward")


def shape_of(node: Any) -> tuple[int, ...] | None:
    metadata = getattr(node, "_input_metadata", None)
    return tuple(int(n) for n in metadata[0].shape) if metadata else None


def maker(tensor: torch.Tensor) -> str:
    """What computed this tensor, seen through rearrangements: "softmax", "sigmoid", "addmm", ""."""
    node = tensor.grad_fn
    while node is not None:
        name = name_of(node)
        if name not in _REARRANGING:
            return {"LogSoftmax": "log_softmax"}.get(name, name.lower())
        node = node.next_functions[0][0] if node.next_functions else None
    return ""


class Walk(NamedTuple):
    leaves: list[torch.Tensor]
    ops: list[str]
    broadcasts: list[Broadcast]
    negated: bool


def walk(loss: torch.Tensor) -> Walk:
    """Breadth first from the loss to the leaves; what lies above the models' outputs is the loss's own
    arithmetic."""
    leaves: list[torch.Tensor] = []
    ops: list[str] = []
    broadcasts: list[Broadcast] = []
    start = loss.grad_fn
    if start is None:
        return Walk([loss] if loss.requires_grad else [], [], [], False)
    seen = {id(start)}
    keep = [start]  # node wrappers die with their last reference, and their id with them
    queue: deque[tuple[Any, bool]] = deque([(start, not is_output(start))])
    while queue and len(seen) < _MOST_NODES:
        node, above = queue.popleft()
        name = name_of(node)
        if above:
            ops.append(name)
            broadcasts += stretched(node, name)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        for child, _ in node.next_functions:
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                keep.append(child)
                queue.append((child, above and not is_output(child)))
    return Walk(leaves, ops[:24], broadcasts, negated(start))


def stretched(node: Any, name: str) -> list[Broadcast]:
    """A model's own output that an element-wise operation stretched to (batch, batch)."""
    if name not in _ELEMENTWISE:
        return []
    result = shape_of(node)
    if result is None or len(result) < 2:
        return []
    for child, _ in node.next_functions:
        inner, shape = seen_through(child)
        if inner and shape and product(result) > product(shape) and shape != result:
            n = shape[0]
            if n > 1 and sum(size == n for size in result) >= 2 and product(result) == product(shape) * n:
                return [Broadcast(name.lower(), (shape,), result)]
    return []


def seen_through(node: Any) -> tuple[bool, tuple[int, ...] | None]:
    """Whether this is a model's output, looked at through squeezes and views that keep its first size."""
    shape = shape_of(node) if node is not None else None
    hops = 0
    while node is not None and hops < 4:
        if is_output(node):
            return True, shape
        if name_of(node) not in {"View", "Reshape", "Squeeze", "ToCopy", "Select", "Slice", "ReshapeAlias"}:
            return False, shape
        node = node.next_functions[0][0] if node.next_functions else None
        hops += 1
    return False, shape


def product(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def negated(start: Any) -> bool:
    """The loss is minus a quantity that one minimises: -criterion, or minus a mean of squares."""
    node, minus = start, False
    for _ in range(8):
        name = name_of(node)
        if name == "Neg":
            minus = not minus
        elif name in _CRITERIA or (name == "Pow" and minus):
            return minus
        elif name not in {"Mean", "Sum", "Div", "Squeeze", "View"}:
            return False
        if not node.next_functions or node.next_functions[0][0] is None:
            return False
        node = node.next_functions[0][0]
    return False


def leads_to(tensor: torch.Tensor, key_of: Callable[[torch.Tensor], int | None]) -> tuple[int, ...]:
    """Keys of the parameters that this tensor's graph leads to."""
    if not tensor.requires_grad:
        return ()
    keys = (key_of(leaf) for leaf in walk(tensor).leaves)
    return tuple(sorted(key for key in keys if key is not None))
