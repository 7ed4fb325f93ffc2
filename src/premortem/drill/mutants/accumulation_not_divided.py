"""The loss of a micro-batch is not divided by the number of micro-batches."""

from __future__ import annotations

from typing import Any

import torch

from premortem.drill.mutants.base import Mutant


class AccumulationNotDivided(Mutant):
    """The loss of a micro-batch is not divided by the number of micro-batches."""

    name = "accumulation-not-divided"
    families = frozenset({"accumulation"})
    needs = "divides no loss by a number of backward passes"

    def over(self) -> None:
        for name in ("__truediv__", "__itruediv__", "div"):
            self.stage.instead(torch.Tensor, name, self._divided)

    def _divided(self, original: Any, tensor: torch.Tensor, by: Any, *args: Any, **kwargs: Any) -> Any:
        loss = tensor.dim() == 0 and tensor.requires_grad
        # The last window of an epoch may be shorter than the others.
        if not loss or not isinstance(by, (int, float)) or not 1 < by <= self.order.per_step:
            return original(tensor, by, *args, **kwargs)
        self.touched += 1
        return tensor
