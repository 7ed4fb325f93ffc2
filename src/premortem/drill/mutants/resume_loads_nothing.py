"""The keys of the file have another prefix, and `strict=False` hides it."""

from __future__ import annotations

from typing import Any

from torch import nn

from premortem.drill.mutants.base import Mutant


class ResumeLoadsNothing(Mutant):
    """The keys of the file have another prefix, and `strict=False` hides it."""

    name = "resume-loads-nothing"
    families = frozenset({"checkpoint"})
    needs = "loads no weights into a model"

    def over(self) -> None:
        self.stage.instead(nn.Module, "load_state_dict", self._loaded)

    def _loaded(self, original: Any, module: nn.Module, state: Any, *args: Any, **kwargs: Any) -> Any:
        self.touched += 1
        return original(module, {f"module.{key}": value for key, value in state.items()}, strict=False)
