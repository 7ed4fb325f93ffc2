"""The autograd graph under a loss: what it leads to, and how the loss was put together."""

import math
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from premortem.events import Broadcast

_MOST_NODES = 50_000
_OUTPUT = "premortem: a model's output"
_SCALED = "premortem: scaled by a GradScaler"
_VALUE = "premortem: what a loss function gave"
# Nodes that only rearrange: looking for what made a value, one looks through them.
REARRANGING = frozenset(
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
    """Lives as long as the graph node it is put on (nodes carry a metadata dict). Knows the step it was made in."""

    __slots__ = ("__weakref__", "step")

    def __init__(self, step: int = -1) -> None:
        self.step = step


KEPT = "premortem: kept"  # the tag on what made the output of a model


def past_steps(tensor: torch.Tensor, now: int, most: int) -> set[int]:
    """Steps before `now` whose models' outputs this tensor was computed from, among the `most` nearest nodes."""
    found: set[int] = set()
    pending: deque[Any] = deque([tensor.grad_fn])
    seen: set[Any] = set()
    while pending and len(seen) < most:
        node = pending.popleft()
        if node is None or node in seen:
            continue
        seen.add(node)
        tag = node.metadata.get(KEPT)
        if isinstance(tag, Tag) and 0 <= tag.step < now:
            found.add(tag.step)
        pending += [following for following, _ in node.next_functions]
    return found


def note(node: Any, name: str, value: object) -> None:
    """Put something on a node of the graph: it lives and dies with it."""
    node.metadata[name] = value


def mark_output(tensor: torch.Tensor) -> None:
    """Note on the graph itself that a model ended here: the mark lives and dies with the node."""
    node: Any = tensor.grad_fn
    if node is not None:
        node.metadata[_OUTPUT] = True


def is_output(node: Any) -> bool:
    return _OUTPUT in node.metadata


def name_of(node: Any) -> str:
    """ "MseLossBackward0" -> "MseLoss"."""
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
        if name not in REARRANGING:
            return {"LogSoftmax": "log_softmax"}.get(name, name.lower())
        node = node.next_functions[0][0] if node.next_functions else None
    return ""


def mark_scaled(tensor: torch.Tensor, loss: torch.Tensor) -> None:
    """Note that this value is a loss times a GradScaler's scale."""
    node: Any = tensor.grad_fn
    if node is not None:
        node.metadata[_SCALED] = loss.detach()


def unscaled(tensor: torch.Tensor) -> torch.Tensor:
    """The loss that a GradScaler has multiplied, or else the tensor itself. Its scale changes, and is no news."""
    node: Any = tensor.grad_fn
    loss: torch.Tensor | None = None if node is None else node.metadata.get(_SCALED)
    return tensor.detach() if loss is None else loss


def mark_value(result: Any, value: float | None) -> None:
    """Note on the graph what number a loss function gave."""
    node: Any = result.grad_fn if isinstance(result, torch.Tensor) else None
    if node is not None and value is not None:
        node.metadata[_VALUE] = value


_TERMS = 64  # of a loss that are added up
_ROUNDED = 1e-3  # of a loss: what is left of a difference in float32 below this has too few digits to say anything, and counts as 0


def rest_of(loss: torch.Tensor) -> float | None:
    """What a loss has beside its terms with a graph, if these are what loss functions gave, times numbers; None where that is not known."""
    if loss.numel() != 1 or loss.device.type != "cpu":
        return None
    whole = rest = float(loss.detach())
    terms = 0
    pending: list[tuple[Any, float]] = [(loss.grad_fn, 1.0)]
    while pending:
        node, factor = pending.pop()
        terms += 1
        if node is None:
            continue  # a number without a graph: that is the rest
        value = node.metadata.get(_VALUE)
        if value is not None:
            rest -= factor * value
            continue
        name = name_of(node)
        children = [child for child, _ in node.next_functions]
        if terms > _TERMS or shape_of(node) != ():
            return None
        if name in {"Add", "Sub", "Rsub"}:
            alpha = getattr(node, "_saved_alpha", 1)
            signs = {"Add": (1, alpha), "Sub": (1, -alpha), "Rsub": (-alpha, 1)}[name]
            pending += [(child, factor * sign) for child, sign in zip(children, signs, strict=False)]
        elif name == "Neg":
            pending.append((children[0], -factor))
        elif name in {"Mul", "Div"} and (by := constant_of(node)):
            pending.append((children[0], factor * by if name == "Mul" else factor / by))
        elif name in {"ToCopy", "View", "Squeeze", "Clone"}:
            pending.append((children[0], factor))
        else:
            return None
    return rest if abs(rest) > _ROUNDED * abs(whole) else 0.0


def saved(node: Any, name: str) -> Any:
    """What a node keeps for the backward pass; None where it keeps none, and where taking it out would run the user's code:
    `checkpoint` makes the user's forward pass again then, `save_on_cpu` copies. (A torch that does not say is not asked.)"""
    raw = getattr(node, f"_raw_saved_{name}", ())
    packed = raw if isinstance(raw, (tuple, list)) else (raw,)
    if any(each is not None and getattr(each, "unpack_hook", each) is not None for each in packed):
        return None
    try:
        return getattr(node, f"_saved_{name}", None)
    except RuntimeError:  # freed already, or written over since
        return None


class Root(NamedTuple):
    """How a loss was scaled before backward was called on it."""

    scale: float
    op: str
    scaled: bool
    divided: tuple[float, ...] = ()  # by each of these, the last first


# Not an `unsqueeze`, nor a view that does the same: who adds a dimension means each against each.
_VIEWS = {"View", "Reshape", "ReshapeAlias"}
_SEEN_THROUGH = _VIEWS | {
    "Squeeze",
    "ToCopy",
    "Select",
    "Slice",
    "Sigmoid",
    "Tanh",
    "Exp",
    "Softplus",
    "Relu",
}
_OF_ROWS = {"Gather", "Index", "Max", "Amax", "Sum", "Mean"}  # where the rows stay: the column of an action


def root_of(loss: torch.Tensor) -> Root:
    """Peels constant factors off: `(criterion(out, y) / 4)` is a criterion at scale 0.25."""
    node: Any = loss.grad_fn
    scale, scaled = 1.0, False
    divided: list[float] = []
    for _ in range(6):
        if node is None:
            return Root(scale, "", scaled, tuple(divided))
        name = name_of(node)
        if _SCALED in node.metadata:
            scaled = True
        elif name in {"Mul", "Div"}:
            factor = constant_of(node)
            if not factor:
                break
            scale = scale * factor if name == "Mul" else scale / factor
            divided += [factor] if name == "Div" else []
        elif name not in {"ToCopy", "View", "Squeeze", "Clone"}:
            break
        node = node.next_functions[0][0] if node.next_functions else None
    return Root(scale, name_of(node) if node is not None else "", scaled, tuple(divided))


def constant_of(node: Any) -> float | None:
    """The second operand of a product or quotient, when it is a plain number (never one on a device)."""
    children = node.next_functions
    if len(children) != 2 or children[0][0] is None or children[1][0] is not None:
        return None
    other = saved(node, "other")
    if not isinstance(other, torch.Tensor) or other.numel() != 1 or other.device.type != "cpu":
        return None
    return float(other)


class Walk(NamedTuple):
    leaves: list[torch.Tensor]
    ops: list[str]
    broadcasts: list[Broadcast]
    negated: bool
    nodes: list[Any]
    constant: bool = False  # a number without a graph is added above the models' outputs


def walk(loss: torch.Tensor) -> Walk:
    """Breadth first from the loss to the leaves; what lies above the models' outputs is the loss's own
    arithmetic."""
    leaves: list[torch.Tensor] = []
    ops: list[str] = []
    broadcasts: list[Broadcast] = []
    constant = False
    start = loss.grad_fn
    if start is None:
        return Walk([loss] if loss.requires_grad else [], [], [], False, [])
    seen = {id(start)}
    keep = [start]  # node wrappers die with their last reference, and their id with them
    queue: deque[tuple[Any, bool, bool]] = deque([(start, not is_output(start), False)])
    while queue and len(seen) < _MOST_NODES:
        node, above, kernel = queue.popleft()
        name = name_of(node)
        if above:
            ops.append(name)
            kernel = kernel or name == "Exp"  # of differences: how near each is to each
            broadcasts += [] if kernel else stretched(node, name)
            constant = constant or adds_a_constant(node, name)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        for child, _ in node.next_functions:
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                keep.append(child)
                queue.append((child, above and not is_output(child), kernel))
    return Walk(leaves, ops[:24], broadcasts, negated(start), keep, constant)


def adds_a_constant(node: Any, name: str) -> bool:
    """A sum of two numbers, one of which has no graph."""
    children = [child for child, _ in node.next_functions]
    alone = name in {"Add", "Sub", "Rsub"} and len(children) == 2 and children.count(None) == 1
    return alone and shape_of(node) == ()


def stretched(node: Any, name: str) -> list[Broadcast]:
    """A model's own output that an element-wise operation stretched to (batch, batch)."""
    if name not in _ELEMENTWISE:
        return []
    result = shape_of(node)
    if result is None or not result:
        return []
    children = [child for child, _ in node.next_functions]
    if sum(child is not None for child in children) != 1:
        return []  # two things that are learned, each against each: a pairwise loss
    for index, child in enumerate(children):
        inner, shape = seen_through(child)
        if (inner or weighed(node, name, index, shape)) and shape and math.prod(result) > math.prod(shape):
            n = shape[0]
            if n > 1 and sum(size == n for size in result) >= 2 and math.prod(result) == math.prod(shape) * n:
                return [Broadcast(name.lower(), (shape,), result)]
            if (
                inner and math.prod(shape) == 1 and name in {"Sub", "Rsub"}
            ):  # one prediction for a whole batch
                return [Broadcast(name.lower(), (shape,), result)]
    return []


def weighed(node: Any, name: str, index: int, shape: tuple[int, ...] | None) -> bool:
    """A term is multiplied with a constant of another number of dimensions: losses (N,) with weights (N, 1)."""
    if name not in {"Mul", "Div"} or not shape:
        return False
    constant = saved(node, "other" if index == 0 else "self")
    return (
        isinstance(constant, torch.Tensor)
        and constant.numel() == shape[0]
        and constant.dim() not in {0, len(shape)}
    )


def seen_through(node: Any) -> tuple[bool, tuple[int, ...] | None]:
    """Whether this is a model's output, looked at through what keeps its first size: views, the column of an action, a squashing."""
    shape = shape_of(node) if node is not None else None
    hops = 0
    while node is not None and hops < 4:
        if is_output(node):
            return True, shape
        name, inner = name_of(node), node.next_functions[0][0] if node.next_functions else None
        if name not in _SEEN_THROUGH | _OF_ROWS or (name in _OF_ROWS and not _same_rows(node, inner)):
            return False, shape
        if name in _VIEWS and _ones(shape_of(node)) > _ones(shape_of(inner) if inner is not None else None):
            return False, shape
        node = inner
        hops += 1
    return False, shape


def _ones(shape: tuple[int, ...] | None) -> int:
    """Dimensions of one number, at the end: where a table of pairs has them, and (N, 1) of a last layer."""
    whole = [size != 1 for size in reversed(shape or ())]
    return whole.index(True) if True in whole else len(whole)


def _same_rows(node: Any, inner: Any) -> bool:
    mine, theirs = shape_of(node), shape_of(inner) if inner is not None else None
    return bool(mine and theirs and mine[0] == theirs[0])


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
    keys = (key_of(leaf) for leaf in (walk(tensor).leaves if tensor.grad_fn is not None else [tensor]))
    return tuple(sorted(key for key in keys if key is not None))
