"""The loss that `backward()` is called on: detached, with the other sign, not divided."""

from __future__ import annotations

from typing import Any

from premortem.changes.base import Change, Harm, Learning
from premortem.changes.late import torch


class LossDetached(Change):
    """The loss is detached, and `requires_grad` was set to quieten the error."""

    name = "loss-detached"
    harm = Harm(families=frozenset({"grad-flow"}), needs="calls no loss.backward()")

    def put_on(self) -> None:
        self.reach.on_backward(self._cut)

    def _cut(self, loss: torch.Tensor) -> torch.Tensor:
        self.touched += 1
        return loss.detach().requires_grad_()


class LossSignFlipped(Change):
    """The loss has the wrong sign: training makes the model worse."""

    name = "loss-sign-flipped"
    harm = Harm(families=frozenset({"loss-definition", "exploding"}), needs="calls no loss.backward()")
    learning = Learning(
        title="sign of the loss turned",
        question="loss",
        family="loss-definition",
        same_loss=False,
        order=4,
        finding="wrong-sign",
        remedy="minimise the loss: remove the minus sign, or negate what is to be maximised",
    )
    opening = ("negative_loss", "the loss is never negative")

    def put_on(self) -> None:
        self.reach.on_backward(self._flipped)

    def _flipped(self, loss: torch.Tensor) -> torch.Tensor:
        self.touched += 1
        return -loss


class AccumulationNotDivided(Change):
    """The loss of a micro-batch is not divided by the number of micro-batches."""

    name = "accumulation-not-divided"
    harm = Harm(families=frozenset({"accumulation"}), needs="divides no loss by a number of backward passes")

    def put_on(self) -> None:
        for name in ("__truediv__", "__itruediv__", "div"):
            self.reach.instead(torch.Tensor, name, self._divided)

    def _divided(self, original: Any, tensor: torch.Tensor, by: Any, *args: Any, **kwargs: Any) -> Any:
        loss = tensor.dim() == 0 and tensor.requires_grad
        # The last window of an epoch may be shorter than the others.
        if not loss or not isinstance(by, (int, float)) or not 1 < by <= self.run.backwards_per_step:
            return original(tensor, by, *args, **kwargs)
        self.touched += 1
        return tensor
