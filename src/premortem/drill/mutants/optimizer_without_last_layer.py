"""The optimizer was not given the last layer."""

from __future__ import annotations

from typing import Any

from premortem.drill.mutants.base import Mutant


class OptimizerWithoutLastLayer(Mutant):
    """The optimizer was not given the last layer."""

    name = "optimizer-without-last-layer"
    families = frozenset({"optimizer-ownership"})
    needs = "builds no optimizer over several layers"

    def over(self) -> None:
        self.stage.on_build(self._shortened)

    def _shortened(self, given: dict[str, Any]) -> None:
        held = given["params"]
        if held and isinstance(held[-1], dict):
            last = held[-1] = {**held[-1], "params": list(held[-1]["params"])}
            held = last["params"]
        if len(held) > _LAYER:
            self.touched += 1
            del held[-_LAYER:]


_LAYER = 2  # tensors: weight and bias
