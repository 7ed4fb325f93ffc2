from __future__ import annotations

from typing import Any

import torch

from premortem.points import Subscriptions


class Adafactor:
    """The second moment of a matrix is kept as one row and one column."""

    name = "adafactor"
    title = "use torch.optim.Adafactor instead of Adam"
    cost = "another optimizer: the learning rate has to be found again"

    @staticmethod
    def wanted(result: dict[str, Any]) -> bool:
        return hasattr(torch.optim, "Adafactor") and bool({"Adam", "AdamW"} & set(result["optimizers"]))

    @staticmethod
    def apply(points: Subscriptions) -> None:
        def instead(params: Any, lr: Any = 1e-3, *_: Any, weight_decay: float = 0.0, **__: Any) -> Any:
            return torch.optim.Adafactor(params, lr=float(lr), weight_decay=weight_decay)

        for name in ("Adam", "AdamW"):
            points.replace(torch.optim, name, instead)
