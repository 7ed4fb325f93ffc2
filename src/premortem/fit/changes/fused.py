from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

from premortem.fit.patches import Patches


class Fused:
    """One kernel updates everything, without temporaries as large as the weights."""

    name = "fused-optimizer"
    title = "give the optimizer fused=True"
    cost = "none; it is also faster"

    @staticmethod
    def wanted(result: dict[str, Any]) -> bool:
        return "foreach" in result["optimizer_ways"]

    @staticmethod
    def apply(patches: Patches) -> None:
        init = Optimizer.__init__

        def constructed(self: Optimizer, params: Any, defaults: dict[str, Any]) -> None:
            init(self, params, defaults)
            for group in [self.defaults, *self.param_groups]:
                if "fused" in group:
                    group.update(fused=True, foreach=False)

        patches.put(Optimizer, "__init__", constructed)
