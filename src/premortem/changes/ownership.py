"""What an optimizer is given: a copy, not all, everything that the loss reaches."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from premortem.changes.base import Change, Harm, Learning
from premortem.changes.late import nn, torch

_LAYER = 2  # tensors: weight and bias
_MOST = 20_000  # nodes of a graph


class StaleOptimizer(Change):
    """The optimizer was built on a copy of the model: it steps parameters that the model does not use."""

    name = "stale-optimizer"
    harm = Harm(families=frozenset({"optimizer-ownership", "update-order"}), needs="builds no optimizer")

    def put_on(self) -> None:
        self.reach.on_build(self._copied)

    def _copied(self, given: dict[str, Any]) -> None:
        self.touched += 1
        given["params"] = copy.deepcopy(given["params"])


class OptimizerWithoutLastLayer(Change):
    """The optimizer was not given the last layer."""

    name = "optimizer-without-last-layer"
    harm = Harm(families=frozenset({"optimizer-ownership"}), needs="builds no optimizer over several layers")

    def put_on(self) -> None:
        self.reach.on_build(self._shortened)

    def _shortened(self, given: dict[str, Any]) -> None:
        held = given["params"]
        if held and isinstance(held[-1], dict):
            last = held[-1] = {**held[-1], "params": list(held[-1]["params"])}
            held = last["params"]
        if len(held) > _LAYER:
            self.touched += 1
            del held[-_LAYER:]


class EverythingOwned(Change):
    """Whatever parameter the loss reaches is stepped: those that no optimizer holds join the one that steps next."""

    name = "everything-owned"
    learning = Learning(
        title="all parameters in the optimizer",
        family="optimizer-ownership",
        order=1,
        certain=True,
        finding="parameter-without-optimizer",
    )
    opening = ("missing", "every parameter that the loss reaches is held by an optimizer")

    def put_on(self) -> None:
        self._optimizers: list[Any] = []
        self._waiting: dict[int, Any] = {}
        self.reach.on_built(self._optimizers.append)
        self.reach.on_backward(self._reached)
        self.reach.around_update(self._join)

    def _held(self) -> set[int]:
        return {id(p) for each in self._optimizers for group in each.param_groups for p in group["params"]}

    def _reached(self, loss: torch.Tensor) -> torch.Tensor:
        held = self._held() | set(self._waiting)
        self._waiting.update({id(p): p for p in reached(loss) if id(p) not in held})
        return loss

    @contextmanager
    def _join(self, optimizer: Any) -> Iterator[None]:
        new = [p for p in self._waiting.values() if p.grad is not None]
        if new:
            self.touched += len(new)
            group = optimizer.param_groups[0]
            self.reach.update(group, {"params": [*group["params"], *new]})
            self._waiting.clear()
        yield
        for parameter in self._waiting.values():
            parameter.grad = None


def reached(loss: torch.Tensor) -> list[Any]:
    """The parameters from which this loss was computed."""
    seen: set[Any] = set()
    left = [loss.grad_fn]
    while left and len(seen) < _MOST:
        node = left.pop()
        if node is not None and node not in seen:
            seen.add(node)
            left += [inner for inner, _ in node.next_functions]
    found = [getattr(node, "variable", None) for node in seen]
    return [each for each in found if isinstance(each, nn.Parameter)]
