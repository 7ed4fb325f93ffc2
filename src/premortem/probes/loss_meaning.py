"""What a loss means, read off its graph: whether it is to be made small or large, and what feeds what."""

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from premortem.probes.graph import REARRANGING, is_output, name_of, saved, shape_of

_MOST_NODES = 400  # a loss's own arithmetic is short; models below it are not walked
_DEPTH = 40

# Small is good.
_CRITERIA = frozenset(
    "NllLoss NllLossNd NllLoss2D CrossEntropyLoss MseLoss L1Loss SmoothL1Loss HuberLoss BinaryCrossEntropy "
    "BinaryCrossEntropyWithLogits SoftMarginLoss MultiMarginLoss".split()
)
# Large is good: the log of a probability.
_LOG_PROBABILITIES = frozenset({"LogSoftmax", "LogSigmoid"})
_PROBABILITIES = frozenset({"Softmax", "Sigmoid"})
# The sign of what goes in is the sign of what comes out.
_KEEPING = REARRANGING | frozenset(
    {"Mean", "Sum", "Gather", "MaskedSelect", "Nansum", "MaskedFill", "Median", "Sqrt"}
)
_RESIDUALS = frozenset({"Pow", "Abs", "LinalgVectorNorm", "Norm"})
_SQUASHING = frozenset("Softmax LogSoftmax Sigmoid LogSigmoid Hardsigmoid Tanh Relu".split())
_TAKING_LOGITS = frozenset("LogSoftmax Softmax Logsumexp LogSigmoid BinaryCrossEntropyWithLogits".split())
# What may stand between the weights of an attention and the product they go into.
_PASSING = frozenset("View UnsafeView Reshape ReshapeAlias Expand Clone ToCopy NativeDropout Mul".split())

# What a sum of log-probabilities, and a centred and scaled error, are made with.
_LINEAR = REARRANGING | frozenset("Sub Rsub Neg Div Mul".split())
_ADDING = _LINEAR | frozenset("Add Sum Mean".split())
# What stands between the values of all actions and the value of one of them.
_CHOOSING = REARRANGING | frozenset("Mul Max Amax Min Minimum Gather Index TakeAlongDim Neg Sub".split())
_PICKING = frozenset("Gather Index Select TakeAlongDim IndexSelect".split())


def sense(loss: torch.Tensor) -> str:
    """ "min" when everything in the loss is better when it is small, "max" for the opposite, "" when unclear.

    Only what is unambiguous counts: named criteria, logs of probabilities picked by an index or a 0/1 mask,
    squared differences from a constant. One term that is something else makes the whole unclear; unless a minus
    stands before all of it, and what is understood in it are criteria that this turns round: "turned".
    """
    signs = _Signs()
    if loss.grad_fn is None:
        return ""
    if not signs.read(loss.grad_fn, 1, 0):
        return "turned" if signs.found == signs.criteria == {-1} and _negated(loss.grad_fn) else ""
    senses: dict[tuple[int, ...], str] = {(1,): "min", (-1,): "max"}
    return senses.get(tuple(signs.found), "")


def _negated(node: Any) -> bool:
    """The last thing that was done to the loss, but for a division, was to turn its sign round."""
    for _ in range(_DEPTH):
        name = name_of(node)
        children = [child for child, _ in node.next_functions]
        factor = _factor(node, name, children)[0] if name in {"Mul", "Div"} else 1
        if name == "Neg" or factor < 0:
            return True
        live = [child for child in children if child is not None]
        if not factor or len(live) != 1 or (name not in {"Mul", "Div"} and name not in REARRANGING):
            return False
        node = live[0]
    return False


class _Signs:
    def __init__(self) -> None:
        self.found: set[int] = set()
        self.criteria: set[int] = set()  # those of them that belong to criteria and distances
        self.nodes = 0

    def read(self, node: Any, sign: int, depth: int, weighed: bool = False) -> bool:
        """Collect the signs of the terms under this node; False when one is not understood.

        `weighed`: a factor above differs from sample to sample. That may be a cost as well as a reward, so then it
        is unknown which way a log-probability should go."""
        self.nodes += 1
        if node is None:
            return True  # a constant
        if depth > _DEPTH or self.nodes > _MOST_NODES:
            return False
        name = name_of(node)
        children = [child for child, _ in node.next_functions]
        if name in _CRITERIA:
            self.found.add(sign)
            self.criteria.add(sign)
            return True
        if name in _LOG_PROBABILITIES or (name.startswith("Log") and _of_probability(children)):
            self.found.add(-sign)
            return not weighed
        if name in _RESIDUALS and _of_difference(node, name, children):
            self.found.add(sign)
            self.criteria.add(sign)
            return True
        if name in _RESIDUALS and children and children[0] is not None and hasattr(children[0], "variable"):
            return True  # a penalty on the weights: neither here nor there
        signs = [sign] * len(children)
        if name == "Neg":
            signs = [-sign]
        elif name == "Rsub":  # 1 - x turns x round
            signs = [-sign, sign]
        elif name == "Sub":
            signs = [sign, -sign]
        elif name in {"Mul", "Div"}:
            factor, plain = _factor(node, name, children)
            weighed = weighed or not plain
            signs = [sign * factor] * len(children)
            if not factor:
                return False
        elif name != "Add" and name not in _KEEPING:
            return False
        # All of them, also after one that is not understood: a later one may have the other sign.
        understood = [self.read(c, s, depth + 1, weighed) for c, s in zip(children, signs, strict=False)]
        return all(understood)


def _factor(node: Any, name: str, children: list[Any]) -> tuple[int, bool]:
    """The sign of the constant that a term is multiplied with (0: no constant, or of both signs), and whether it is
    plain: a number, a 0/1 mask, weights that sum to one (soft labels)."""
    live = [i for i, child in enumerate(children) if child is not None]
    if len(live) != 1 or (name == "Div" and live[0] != 0):
        return 0, True
    constant = saved(node, "other" if live[0] == 0 else "self")
    if isinstance(constant, (int, float)):
        return (constant > 0) - (constant < 0), True
    if not isinstance(constant, torch.Tensor) or not constant.numel() or constant.is_complex():
        return 0, True
    with _disable_current_modes():  # of the user's: to them the number in `0 * x` is no tensor
        return _sign(constant.detach().float())


def _sign(values: torch.Tensor) -> tuple[int, bool]:
    low, high = (float(v) for v in values.aminmax())
    sign = 1 if low >= 0 and high > 0 else -1 if high <= 0 and low < 0 else 0
    size = values.abs()
    mask = bool(((size == 0) | (size == 1)).all())
    soft = values.dim() > 1 and bool(((size.sum(-1) - 1).abs() < 1e-3).all())
    return sign, low == high or mask or soft


def _of_probability(children: list[Any]) -> bool:
    """log(p), log(p + eps), log(1 - p), log(p.clamp(eps))."""
    node = children[0] if children else None
    for _ in range(6):
        if node is None:
            return False
        name = name_of(node)
        if name in _PROBABILITIES:
            return True
        if name not in REARRANGING and name not in {"Add", "Clamp", "Rsub", "ClampMin"}:
            return False
        live = [c for c, _ in node.next_functions if c is not None]
        node = live[0] if len(live) == 1 else None
    return False


def _of_difference(node: Any, name: str, children: list[Any]) -> bool:
    """(prediction - constant) ** 2, or its absolute value."""
    if name == "Pow":
        exponent = saved(node, "exponent")
        if isinstance(exponent, torch.Tensor) or exponent not in (2, 4):
            return False
    inner = children[0] if children else None
    while inner is not None and name_of(inner) in REARRANGING:
        inner = inner.next_functions[0][0] if inner.next_functions else None
    if inner is None or name_of(inner) not in {"Sub", "Rsub"}:
        return False
    return len(inner.next_functions) > 1 and sum(c is not None for c, _ in inner.next_functions) == 1


def feeds(nodes: list[Any]) -> tuple[tuple[str, str], ...]:
    """Among these nodes: what takes logits and is given something already squashed."""
    found: dict[tuple[str, str], None] = {}
    for node in nodes:
        name = name_of(node)
        if name not in _TAKING_LOGITS:
            continue
        child = node.next_functions[0][0] if node.next_functions else None
        while child is not None and name_of(child) in REARRANGING:
            child = child.next_functions[0][0] if child.next_functions else None
        if child is not None and (lower := name_of(child)) in _SQUASHING:
            found[name, lower] = None
    return tuple(found)


def crossed(nodes: list[Any]) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Softmaxes that go straight into a product which sums over their last dimension, and ran over another one."""
    found: dict[tuple[tuple[int, ...], int], None] = {}
    for node in nodes:
        if name_of(node) != "Bmm" or not node.next_functions:
            continue
        weights = node.next_functions[0][0]
        last = None
        while weights is not None and name_of(weights) in _PASSING:
            shape = shape_of(weights)
            last = last or (shape[-1] if shape else None)
            weights = next((child for child, _ in weights.next_functions if child is not None), None)
        shape = shape_of(weights) if weights is not None and name_of(weights) == "Softmax" else None
        if shape is None or len(shape) < 3 or last not in {None, shape[-1]}:
            continue
        dim = softmax_dimension(weights, len(shape))
        if dim != len(shape) - 1:
            found[shape, dim] = None
    return tuple(found)


def weighed_by_an_error(nodes: list[Any]) -> bool:
    """A log-probability of what was drawn, times a number minus a model's output that has a graph of its own: the product
    would be made small by moving that output, too."""
    for node in nodes:
        if name_of(node) != "Mul":
            continue
        sides = [child for child, _ in node.next_functions]
        if len(sides) == 2 and None not in sides:
            one, other = sides
            if (_log_probability(one) and _error(other)) or (_log_probability(other) and _error(one)):
                return True
    return False


def _below(start: Any, through: frozenset[str]) -> Iterator[Any]:
    """The nodes under this one, itself among them, looked at through these operations."""
    pending, seen = [start], 0
    while pending and seen < _MOST_NODES:
        node = pending.pop()
        seen += 1
        yield node
        if name_of(node) in through:
            pending += [child for child, _ in node.next_functions if child is not None]


def _log_probability(start: Any) -> bool:
    """Of a class that an index picks out of all, or of a number under a normal distribution."""
    for node in _below(start, _ADDING):
        name = name_of(node)
        if name in _PICKING and any(_normalised(each) for each in _below(node, _PICKING | REARRANGING)):
            return True
        if name == "Neg" and any(
            name_of(child) == "Pow"
            and _of_difference(child, "Pow", [each for each, _ in child.next_functions])
            for child, _ in node.next_functions
            if child is not None
        ):
            return True
    return False


def _normalised(node: Any) -> bool:
    name = name_of(node)
    if name == "LogSoftmax" or (name.startswith("Log") and name != "Logsumexp"):
        return True
    return name == "Sub" and any(
        child is not None and name_of(child) == "Logsumexp" for child, _ in node.next_functions
    )


def promises(given: torch.Tensor, target: torch.Tensor) -> bool:
    """A target of the form number + factor * output of a model, with the graph of that output: what comes now, and what is
    expected of the rest. It is compared with an output as well: a slope on the other side says that an equation is to hold."""
    if given.grad_fn is None or not any(is_output(each) for each in _below(given.grad_fn, _CHOOSING)):
        return False
    for node in _below(target.grad_fn, REARRANGING) if target.grad_fn is not None else ():
        live = [child for child, _ in node.next_functions if child is not None]
        if name_of(node) == "Add" and len(live) == 1 and len(node.next_functions) == 2:
            path = list(_below(live[0], _CHOOSING))
            weighed = any(name_of(each) == "Mul" and _constant(each) for each in path)
            if weighed and any(is_output(each) for each in path):
                return True
    return False


def _constant(node: Any) -> bool:
    """A product with a number, or with one for each row."""
    return sum(child is not None for child, _ in node.next_functions) == 1


def _error(start: Any) -> bool:
    """A number minus a model's output, perhaps centred and scaled."""
    for node in _below(start, _LINEAR):
        live = [child for child, _ in node.next_functions if child is not None]
        if name_of(node) in {"Sub", "Rsub"} and len(live) == 1 and len(node.next_functions) == 2:
            if any(is_output(each) for each in _below(live[0], REARRANGING)):
                return True
    return False


def softmax_dimension(node: Any, dimensions: int) -> int:
    """Which dimension a softmax ran over; a negative one is kept as an unsigned number."""
    dim = int(node._saved_dim)
    return (dim - (1 << 64) if dim >= 1 << 63 else dim) % dimensions
