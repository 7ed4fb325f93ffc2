from __future__ import annotations

from typing import Any

from premortem.fit.changes.settings import change_settings
from premortem.points import Subscriptions


class Fused:
    """One kernel updates everything, without temporaries as large as the weights."""

    name = "fused-optimizer"
    title = "give the optimizer fused=True"
    cost = "none; it is also faster"

    @staticmethod
    def wanted(result: dict[str, Any]) -> bool:
        return "foreach" in result["optimizer_ways"]

    @staticmethod
    def apply(points: Subscriptions) -> None:
        def change(group: dict[str, Any]) -> None:
            if "fused" in group:
                group.update(fused=True, foreach=False)

        change_settings(points, change)
