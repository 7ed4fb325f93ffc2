"""What noise is multiplied with, in a graph: the spread of a distribution, or its logarithm by mistake.

mu + eps * torch.exp(0.5 * logvar)     and  - logvar.exp()   in the prior's term: one says the deviation, the other the variance
mu + eps * logvar                      the factor itself is the logarithm in that term
mu + eps * torch.exp(logvar)           the variance of that term is taken for the deviation

That term, `0.5 * (mu ** 2 + logvar.exp() - logvar - 1)`, is what says that `exp(x)` is a variance: anything may be put into an `exp`, and
`exp(x) - x` may be a penalty on a deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from premortem.probes.graph import REARRANGING, constant_of, name_of, saved

_MOST_TERMS = 256  # of a loss that are read: a sum written by hand has a dozen


class _Term(NamedTuple):
    """What is summed up in a loss: where it comes from, what it is multiplied with, and whether one half is among that."""

    edge: tuple[Any, int]
    factor: float
    halved: bool


def misread(nodes: list[Any], is_noise: Callable[[torch.Tensor], bool]) -> str:
    """ "logarithm" or "variance" where noise is multiplied with that; "" where it is not, or not known."""
    if not any(name_of(node) == "Exp" for node in nodes):
        return ""
    noisy = [factor for node in nodes if (factor := _beside_noise(node, is_noise)) is not None]
    if not noisy:
        return ""
    logarithms = _logarithms(_terms(nodes[0]))
    for factor in noisy:
        if _name(factor) in logarithms:
            return "logarithm"
        inner = factor[0]
        if name_of(inner) == "Exp" and inner.next_functions and _name(inner.next_functions[0]) in logarithms:
            return "variance"
    return ""


def _name(edge: tuple[Any, int]) -> tuple[int, int]:
    return id(edge[0]), edge[1]


def _beside_noise(node: Any, is_noise: Callable[[torch.Tensor], bool]) -> tuple[Any, int] | None:
    """The other factor of a product with noise, if that has a graph."""
    children = node.next_functions
    if name_of(node) != "Mul" or len(children) != 2:
        return None
    with_graph = [index for index, (child, _) in enumerate(children) if child is not None]
    if len(with_graph) != 1:
        return None
    constant = saved(node, "other" if with_graph[0] == 0 else "self")
    noise = isinstance(constant, torch.Tensor) and is_noise(constant)
    return children[with_graph[0]] if noise else None


def _terms(loss: Any) -> list[_Term]:
    found: list[_Term] = []
    pending = [_Term((loss, 0), 1.0, False)]
    while pending and len(found) + len(pending) < _MOST_TERMS:
        term = pending.pop()
        (node, _), factor, halved = term
        found.append(term)
        name, children = name_of(node), node.next_functions
        signs = [1.0] * len(children)
        if name in {"Mul", "Div"}:
            if sum(child is not None for child, _ in children) != 1:
                continue
            by = (
                constant_of(node) or 1.0
            )  # of a number on a device, which is not looked at, the sign is left out
            halved = halved or abs(by) == (0.5 if name == "Mul" else 2)
            signs = [by if name == "Mul" else 1 / by] * len(children)
        elif name == "Neg":
            signs = [-1.0]
        elif name == "Sub":
            signs = [1.0, -1.0]
        elif name == "Rsub":
            signs = [-1.0, 1.0]
        elif name not in {"Add", "Sum", "Mean", *REARRANGING}:
            continue
        pending += [
            _Term(child, factor * sign, halved)
            for child, sign in zip(children, signs, strict=False)
            if child[0] is not None
        ]
    return found


def _logarithms(terms: list[_Term]) -> set[tuple[int, int]]:
    """What is x in `0.5 * (mu ** 2 + exp(x) - x)`, all three summed up with the same weight."""
    found = set()
    for power in terms:
        if name_of(power.edge[0]) != "Exp" or not power.halved or not power.edge[0].next_functions:
            continue
        inner = _name(power.edge[0].next_functions[0])
        alone = any(_name(term.edge) == inner and _alike(term.factor, -power.factor) for term in terms)
        if alone and any(_squared(term.edge[0]) and _alike(term.factor, power.factor) for term in terms):
            found.add(inner)
    return found


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * abs(other)  # products of the same numbers, in another order


def _squared(node: Any) -> bool:
    children = node.next_functions
    if name_of(node) == "Mul":
        return len(children) == 2 and children[0][0] is not None and _name(children[0]) == _name(children[1])
    return name_of(node) == "Pow" and saved(node, "exponent") == 2
