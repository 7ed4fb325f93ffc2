"""The graph as a witness: before backward frees them, its nodes hold what they were given and what they made."""

import sys
from collections.abc import Iterator
from typing import Any

import torch

from premortem.events import Site
from premortem.probes.graph import name_of
from premortem.probes.operation_words import GROWING, Birth, finite, forward_words, spelling, undefined, worst
from premortem.probes.operations import saved
from premortem.probes.session import is_user_code
from premortem.probes.source import lines_calling
from premortem.tensors.sharding import freed

_MOST_NODES = 20_000
_EXPONENTIALS = frozenset({"exp", "exp2", "expm1", "cosh", "sinh"})


def only_line(loss: torch.Tensor, op: str) -> Site | None:
    """The line of the user's code that did this, when the graph and the code have it exactly once each."""
    if sum(spelling(node.name()) == op for node in children_first(loss.grad_fn)) != 1:
        return None
    lines = (
        Site(file, line)
        for file in {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        if file is not None and is_user_code(file)
        for line in lines_calling(op, file)
    )
    first = next(lines, None)
    return first if next(lines, None) is None else None


def birth_of(loss: torch.Tensor) -> Birth | None:
    """The first operation, leaves first, that was given finite numbers and made others."""
    for node in children_first(loss.grad_fn):
        found = examine(node)
        if found is not None:
            return found
    return None


def children_first(start: Any) -> Iterator[Any]:
    """Every node after the ones it depends on."""
    stack: list[tuple[Any, bool]] = [(start, False)] if start is not None else []
    seen: dict[Any, None] = {}
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
            continue
        if node in seen or len(seen) > _MOST_NODES:
            continue
        seen[node] = None
        stack.append((node, True))
        stack.extend((child, False) for child, _ in node.next_functions if child is not None)


def examine(node: Any) -> Birth | None:
    op = spelling(node.name())
    children = [child for child, _ in node.next_functions]
    inputs = given_to(node)
    for index, value in positions(node, inputs):
        if not finite(value):
            child = children[index] if index < len(children) else None
            if child is None:
                return Birth(op, f"an operand of {op} holds {worst(value)}", constant=True, made=worst(value))
            below, made = spelling(child.name()), worst(value)
            return Birth(below, below, made != "nan" and below in GROWING, made=made)
    rule = undefined(op, inputs) or ("the mean of an empty tensor" if mean_of_nothing(node, op) else "")
    result = kept(node, "result")
    made = worst(result) if result is not None and not finite(result) else ""
    if rule:
        return Birth(op, rule, made=made, sure=True)
    if not made:
        return None
    # What exp was given it does not keep; but infinity comes from a large number far more often than from infinity.
    sure = (op in _EXPONENTIALS and made == "inf") or any(
        isinstance(v, torch.Tensor) for v in inputs.values()
    )
    return forward_words(op, inputs, infinite=made != "nan")._replace(made=made, sure=sure)


def given_to(node: Any) -> dict[str, Any]:
    """What the node was given, as far as it kept it."""
    named = ("self", "other", "mat1", "mat2", "target", "input", "exponent", "total_weight")
    found = {name: value for name in named if (value := kept(node, name)) is not None}
    return found | {
        name: value
        for name in ("other", "exponent", "dim", "correction", "reduction")
        if (value := saved(node, name)) is not None and not isinstance(value, torch.Tensor)
    }


def positions(node: Any, inputs: dict[str, Any]) -> Iterator[tuple[int, torch.Tensor]]:
    """Tensors it was given, with their position among the node's children."""
    first = name_of(node) == "Addmm"  # its first child is the bias, which it does not keep
    for name, position in (("self", 0), ("input", 0), ("other", 1), ("target", 1), ("mat1", 1), ("mat2", 1)):
        value = inputs.get(name)
        if isinstance(value, torch.Tensor):
            yield position + (first and name == "mat2"), value


def kept(node: Any, attribute: str) -> torch.Tensor | None:
    value = saved(node, attribute)
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return None
    if value.layout != torch.strided or not value.numel() or freed(value):
        return None
    return value.detach()


def mean_of_nothing(node: Any, op: str) -> bool:
    return op == "mean" and saved(node, "self_sym_numel") == 0
