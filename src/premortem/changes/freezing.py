"""Which parameters learn: half of the layers do not, all of them do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from premortem.changes.base import Change, Harm, Learning, RunDescription
from premortem.changes.edits import unfreezing
from premortem.changes.late import nn


class ModuleFrozen(Change):
    """`requires_grad` of half of the layers was switched off before training and never on again."""

    name = "module-frozen"
    harm = Harm(
        families=frozenset({"grad-flow", "config", "optimizer-ownership"}),
        needs="trains no model of several layers",
    )

    def put_on(self) -> None:
        self.reach.on_call(self._call)

    def _call(self, call: Callable[..., Any], module: nn.Module, depth: int) -> Callable[..., Any]:
        if not depth and not self.touched and self.reach.in_training(module):
            layers = [
                each for each in module.modules() if next(each.parameters(recurse=False), None) is not None
            ]
            for layer in layers[: len(layers) // 2]:
                layer.requires_grad_(False)
                self.touched += 1
        return call


class Unfrozen(Change):
    """Every parameter of a trained model learns."""

    name = "unfrozen"
    edit = partial(unfreezing)
    learning = Learning(title="nothing frozen", family="grad-flow", order=3, finding="frozen-by-leftover")

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        if run.loaded:
            return "weights were loaded into the model: what is frozen may be meant to be"
        return "" if run.frozen else "nothing is frozen"

    def put_on(self) -> None:
        self._thawed: list[Any] = []
        self._optimizers: list[Any] = []
        self.reach.on_built(self._optimizers.append)
        self.reach.on_root(self._thaw)
        self.reach.around_update(self._join)

    def _thaw(self, root: nn.Module) -> None:
        for parameter in root.parameters():
            if not parameter.requires_grad and parameter.is_floating_point():
                parameter.requires_grad_(True)
                self._thawed.append(parameter)
                self.touched += 1
        self.reach.undoing(self._freeze_again)

    def _freeze_again(self) -> None:
        for parameter in self._thawed:
            parameter.requires_grad_(False)
        self._thawed.clear()

    @contextmanager
    def _join(self, optimizer: Any) -> Iterator[None]:
        """What no optimizer holds joins the first group of the one that steps."""
        held = {id(p) for each in self._optimizers for group in each.param_groups for p in group["params"]}
        new = [p for p in self._thawed if id(p) not in held]
        if new:
            group = optimizer.param_groups[0]
            self.reach.update(group, {"params": [*group["params"], *new]})
        yield
