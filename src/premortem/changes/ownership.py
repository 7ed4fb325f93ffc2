"""What an optimizer is given: a copy, not all."""

from __future__ import annotations

import copy
from typing import Any

from premortem.changes.base import Change, Harm

_LAYER = 2  # tensors: weight and bias


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
