"""Gradient accumulation: none."""

from __future__ import annotations

from typing import Any

from premortem.changes.base import Change, Learning, RunDescription
from premortem.changes.late import torch
from premortem.changes.plain_optimizers import scaled


class NoAccumulation(Change):
    """A step is made after each backward pass, with its gradients alone."""

    name = "no-accumulation"
    learning = Learning(
        title="no accumulation",
        family="accumulation",
        mistake=False,  # more steps are made: that alone may help
        order=7,
        where_stuck=True,
        remedy="divide each loss by the number of backward passes of a step, and step and clear once after the last",
    )

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        return "" if run.backwards_per_step > 1 else "each backward pass has its own step"

    @classmethod
    def prevented(cls, run: RunDescription) -> str:
        return scaled(run)

    def put_on(self) -> None:
        self._optimizers: list[Any] = []
        self.reach.on_built(self._optimizers.append)
        self.reach.on_step(lambda step, optimizer: None if self._alone else step())
        self.reach.instead(torch.Tensor, "backward", self._backward)

    @property
    def _alone(self) -> bool:
        """Of several optimizers, which one a backward pass is for is not known."""
        return len(self._optimizers) == 1

    def _backward(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if self._alone:
            self.touched += 1
            (optimizer,) = self._optimizers
            optimizer.step()
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None
        return result
