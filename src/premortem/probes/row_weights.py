"""The weight of each row in a loss: which rows can change the model at all.

The graph is read and nothing is computed again. Where every way from the loss to what a model gave goes through a product with one number
for each row, a row whose number is 0 teaches nothing."""

from __future__ import annotations

from collections import deque
from typing import Any

import torch

from premortem.events import RowWeights
from premortem.probes.graph import is_output, name_of, saved
from premortem.probes.numbers import on_host
from premortem.probes.recent_data import Recent

_MOST = 4096  # nodes between a loss and the outputs
_FACTORS = {"Dot": ("self", "tensor"), "BinaryCrossEntropy": ("weight",)}
_FACTORS["BinaryCrossEntropyWithLogits"] = _FACTORS["BinaryCrossEntropy"]


def weighed(nodes: list[Any], recent: Recent) -> RowWeights | None:
    """None where a way leads past all weights, where none of them is 0, and where they are no data: what the script computes, as a
    mask of hard samples, is its own choice."""
    if not any(map(is_output, nodes)):
        return None
    factors: list[torch.Tensor] = []
    pending, seen = deque(nodes[:1]), {id(node) for node in nodes[:1]}
    while pending:
        node = pending.popleft()
        if is_output(node) or len(seen) > _MOST:
            return None
        factor = factor_of(node)
        if factor is not None:
            factors.append(factor)
            continue
        for child, _ in node.next_functions:
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                pending.append(child)
    if not factors or len({len(factor) for factor in factors}) > 1:
        return None
    if not all(is_data(factor, recent) for factor in factors):
        return None
    counted = torch.stack([factor != 0 for factor in factors]).any(0)
    uneven = any(len(factor[factor != 0].unique()) > 1 for factor in factors)
    return RowWeights(len(counted), int(counted.sum()), uneven)


def factor_of(node: Any) -> torch.Tensor | None:
    """What the node multiplies its rows with, if some of it is 0."""
    name, children = name_of(node), node.next_functions
    names = _FACTORS.get(name, ())
    if name == "Mul" and len(children) == 2 and sum(child is None for child, _ in children) == 1:
        names = ("other",) if children[1][0] is None else ("self",)
    for each in names:
        factor = saved(node, each)
        if isinstance(factor, torch.Tensor) and not factor.requires_grad and factor.numel() > 1:
            if factor.layout == torch.strided and factor.numel() == max(factor.shape):
                flat = on_host(factor.detach()).reshape(-1)
                if bool((flat == 0).any()):
                    return flat
    return None


def is_data(factor: torch.Tensor, recent: Recent) -> bool:
    """Read from the data, as it is or scaled: what a loader gave has its zeros at the same places."""
    zeros = factor == 0
    given = [t for each in recent.tensors if (t := each()) is not None]
    return any(
        t.numel() == len(factor)
        and t.layout == torch.strided
        and torch.equal(on_host(t.detach()).reshape(-1) == 0, zeros)
        for t in given
    )
