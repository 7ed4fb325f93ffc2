"""`zero_grad()`: forgotten, lets gradients go instead of filling them with zeros, always right."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from premortem.changes.base import Change, Harm, Learning, Memory, RunDescription
from premortem.changes.edits import without_keyword
from premortem.changes.late import nn, torch


class ZeroGradChanged(Change):
    """The script's `zero_grad()`, an optimizer's or a model's, does something else."""

    def put_on(self) -> None:
        from torch.optim.optimizer import Optimizer

        for owner in (Optimizer, nn.Module):
            self.reach.instead(owner, "zero_grad", self._cleared)

    @abstractmethod
    def _cleared(self, original: Any, owner: Any, set_to_none: bool = True) -> None: ...


class ZeroGradDropped(ZeroGradChanged):
    """`optimizer.zero_grad()` is forgotten: gradients pile up."""

    name = "zero-grad-dropped"
    harm = Harm(families=frozenset({"update-order", "accumulation"}), needs="calls no zero_grad()")

    def _cleared(self, original: Any, owner: Any, set_to_none: bool = True) -> None:
        self.touched += 1


class SetToNone(ZeroGradChanged):
    """Gradients are let go between two steps instead of being filled with zeros."""

    name = "set-to-none"
    edit = partial(without_keyword, method="zero_grad", keyword="set_to_none", position=0)
    memory = Memory(title="call zero_grad() without set_to_none=False, before the forward pass", cost="none")
    opening = ("zeroed_in_place", "gradients are let go between two steps already")

    def _cleared(self, original: Any, owner: Any, set_to_none: bool = True) -> None:
        self.touched += not set_to_none
        original(owner, set_to_none=True)


class FreshGradients(ZeroGradChanged):
    """Gradients are cleared once: before the first backward pass after a step."""

    name = "fresh-gradients"
    learning = Learning(title="fresh gradients each step", family="update-order", order=2, certain=True)

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        wrong = run.stale_gradients or run.cleared_before_step
        return "" if wrong else "each step is made with the gradients of its own backward passes"

    def put_on(self) -> None:
        self._optimizers: list[Any] = []
        self._stepped = True
        super().put_on()
        self.reach.on_built(self._optimizers.append)
        self.reach.on_step(self._step)
        self.reach.instead(torch.Tensor, "backward", self._backward)

    def _cleared(self, original: Any, owner: Any, set_to_none: bool = True) -> None:
        """The script's own come at the wrong time, or not to all."""

    def _step(self, step: Callable[[], Any], optimizer: Any) -> Any:
        self._stepped = True
        return step()

    def _backward(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        if self._stepped:
            self._stepped = False
            self.touched += 1
            for optimizer in self._optimizers:
                for group in optimizer.param_groups:
                    for parameter in group["params"]:
                        parameter.grad = None
        return original(*args, **kwargs)
