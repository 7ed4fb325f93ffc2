from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

from premortem.fit.patches import Patches


class OneByOne:
    """The parameters are updated one after the other, so temporaries are as large as the largest of them."""

    name = "foreach-false"
    title = "give the optimizer foreach=False"
    cost = "a slower optimizer step; fused=True is better where it exists"

    @staticmethod
    def wanted(result: dict[str, Any]) -> bool:
        return "foreach" in result["optimizer_ways"]

    @staticmethod
    def apply(patches: Patches) -> None:
        init = Optimizer.__init__

        def constructed(self: Optimizer, params: Any, defaults: dict[str, Any]) -> None:
            init(self, params, defaults)
            for group in [self.defaults, *self.param_groups]:
                if "foreach" in group and not group.get("fused"):
                    group.update(foreach=False)

        patches.put(Optimizer, "__init__", constructed)
