"""`requires_grad` of half of the layers was switched off before training and never on again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from premortem.drill.mutants.base import Mutant
from premortem.drill.script_calls import in_training


class ModuleFrozen(Mutant):
    """`requires_grad` of half of the layers was switched off before training and never on again."""

    name = "module-frozen"
    families = frozenset({"grad-flow", "config", "optimizer-ownership"})
    needs = "trains no model of several layers"

    def over(self) -> None:
        self.stage.on_call(self._call)

    def _call(self, call: Callable[..., Any], module: nn.Module, depth: int) -> Callable[..., Any]:
        if not depth and not self.touched and in_training(module):
            layers = [
                each for each in module.modules() if next(each.parameters(recurse=False), None) is not None
            ]
            for layer in layers[: len(layers) // 2]:
                layer.requires_grad_(False)
                self.touched += 1
        return call
