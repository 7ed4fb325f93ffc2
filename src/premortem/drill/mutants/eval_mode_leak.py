"""After the first evaluation the model stays in evaluation mode."""

from __future__ import annotations

from typing import Any

from torch import nn

from premortem.drill.mutants.base import Mutant


class EvalModeLeak(Mutant):
    """After the first evaluation the model stays in evaluation mode."""

    name = "eval-mode-leak"
    families = frozenset({"eval-mode"})
    needs = "comes back to training from no evaluation in this many steps"

    def over(self) -> None:
        self._evaluated = False
        self.stage.instead(nn.Module, "train", self._train)
        self.stage.instead(nn.Module, "eval", self._eval)

    def _eval(self, original: Any, module: nn.Module) -> Any:
        self._evaluated = True
        return original(module)

    def _train(self, original: Any, module: nn.Module, mode: bool = True) -> Any:
        if not mode:
            self._evaluated = True
        elif self._evaluated:
            self.touched += 1
            return module
        return original(module, mode)
