"""The optimizer was built on a copy of the model: it steps parameters that the model does not use."""

from __future__ import annotations

import copy
from typing import Any

from premortem.drill.mutants.base import Mutant


class StaleOptimizer(Mutant):
    """The optimizer was built on a copy of the model: it steps parameters that the model does not use."""

    name = "stale-optimizer"
    families = frozenset({"optimizer-ownership", "update-order"})
    needs = "builds no optimizer"

    def over(self) -> None:
        self.stage.on_build(self._copied)

    def _copied(self, given: dict[str, Any]) -> None:
        self.touched += 1
        given["params"] = copy.deepcopy(given["params"])
