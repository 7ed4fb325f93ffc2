"""The shape of what a prediction is compared with: the prediction's own."""

from __future__ import annotations

import inspect
from typing import Any

from premortem.changes.base import Change, Learning
from premortem.changes.late import torch

COMPARING = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_BY_HAND = ("__sub__", "__rsub__", "sub")


class SameShapes(Change):
    """A target with as many numbers as the prediction has the prediction's shape."""

    name = "same-shapes"
    learning = Learning(
        title="target in the shape of the prediction",
        question="loss",
        family="shape",
        order=2,
        certain=True,
        finding="broadcast-in-loss",
        remedy="give both the same shape: prediction.squeeze(-1), or target.unsqueeze(-1)",
    )
    opening = ("mismatched", "prediction and target have the same shape")

    def put_on(self) -> None:
        from torch.nn import functional

        for name in COMPARING:
            self.reach.instead(functional, name, self._compared)
        for name in _BY_HAND:
            self.reach.instead(torch.Tensor, name, self._subtracted)

    def _compared(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(original).bind(*args, **kwargs)
        made, wanted = given.arguments.get("input"), given.arguments.get("target")
        if broadcasts(made, wanted):
            self.touched += 1
            given.arguments["target"] = wanted.reshape(made.shape)  # type: ignore[union-attr]
        return original(*given.args, **given.kwargs)

    def _subtracted(self, original: Any, left: Any, right: Any, *args: Any, **kwargs: Any) -> Any:
        if broadcasts(left, right) and left.requires_grad != right.requires_grad:
            self.touched += 1
            right = right.reshape(left.shape)
        return original(left, right, *args, **kwargs)


def broadcasts(left: Any, right: Any) -> bool:
    """Whether (N, 1) meets (N,), so that every sample is compared with every other one."""
    if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
        return False
    count = left.numel()
    one_more = {left.dim(), right.dim()} == {1, 2} and 1 in {left.shape[-1], right.shape[-1]}
    return one_more and count == right.numel() > 1 and right.is_floating_point() and left.shape != right.shape
