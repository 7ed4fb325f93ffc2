"""`zero_grad()`: forgotten, lets gradients go instead of filling them with zeros."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any

from premortem.changes.base import Change, Harm, Memory
from premortem.changes.edits import without_keyword
from premortem.changes.late import nn


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
