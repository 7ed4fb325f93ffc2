"""`model.eval()` is forgotten."""

from __future__ import annotations

from typing import Any

from torch import nn

from premortem.drill.mutants.base import Mutant


class EvaluatedInTrainMode(Mutant):
    """`model.eval()` is forgotten."""

    name = "evaluated-in-train-mode"
    families = frozenset({"eval-mode"})
    needs = "evaluates nothing in this many steps"

    def over(self) -> None:
        self.stage.instead(nn.Module, "train", self._train)
        self.stage.instead(nn.Module, "eval", self._eval)

    def _eval(self, original: Any, module: nn.Module) -> Any:
        self.touched += 1
        return module

    def _train(self, original: Any, module: nn.Module, mode: bool = True) -> Any:
        if mode:
            return original(module, mode)
        self.touched += 1
        return module
