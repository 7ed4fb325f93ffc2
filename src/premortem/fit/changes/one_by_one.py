from __future__ import annotations

from typing import Any

from premortem.fit.changes.settings import change_settings
from premortem.points import Subscriptions


class OneByOne:
    """The parameters are updated one after the other, so temporaries are as large as the largest of them."""

    name = "foreach-false"
    title = "give the optimizer foreach=False"
    cost = "a slower optimizer step; fused=True is better where it exists"

    @staticmethod
    def wanted(result: dict[str, Any]) -> bool:
        return "foreach" in result["optimizer_ways"]

    @staticmethod
    def apply(points: Subscriptions) -> None:
        def change(group: dict[str, Any]) -> None:
            if "foreach" in group and not group.get("fused"):
                group.update(foreach=False)

        change_settings(points, change)
