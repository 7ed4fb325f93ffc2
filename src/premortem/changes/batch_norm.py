"""Batch norm: statistics of the batch instead of those that were kept."""

import inspect
from typing import Any

from premortem.changes.base import Change, Learning


class BatchNormOnBatch(Change):
    """Batch norm uses the statistics of the batch that it is given, in evaluation as in training."""

    name = "batch-norm-on-batch"
    learning = Learning(
        title="batch norm on batch statistics",
        question="mode",
        family="eval-mode",
        order=4,
        least=0.3,
        remedy="the statistics that batch norm keeps are not those of the data: look at its momentum, at what was "
        "loaded into it, and at what else runs through the model in training mode",
    )
    opening = ("kept_statistics", "no batch norm uses statistics that it has kept for long")

    def put_on(self) -> None:
        from torch.nn import functional

        self.reach.instead(functional, "batch_norm", self._normed)

    def _normed(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(original).bind(*args, **kwargs)
        x = given.arguments["input"]
        if not given.arguments.get("training", False) and x.numel() > x.shape[1]:
            self.touched += 1
            given.arguments |= {"running_mean": None, "running_var": None, "training": True}
        return original(*given.args, **given.kwargs)
