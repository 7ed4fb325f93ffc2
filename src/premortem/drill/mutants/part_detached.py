"""The output of the first layer is detached: it is never trained."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from premortem.drill.mutants.base import Mutant
from premortem.drill.script_calls import in_training


class PartDetached(Mutant):
    """The output of the first layer is detached: it is never trained."""

    name = "part-detached"
    families = frozenset({"grad-flow"})
    needs = "trains no model of several layers"

    def over(self) -> None:
        self._first: nn.Module | None = None
        self.stage.on_call(self._call)

    def _call(self, call: Callable[..., Any], module: nn.Module, depth: int) -> Callable[..., Any]:
        if self._first is None and depth and in_training(module) and not any(module.children()):
            self._first = module
        return functools.partial(self._cut, call) if module is self._first else call

    def _cut(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._detached(call(*args, **kwargs))

    def _detached(self, result: Any) -> Any:
        if type(result) is tuple:  # a recurrent layer gives its state too
            return tuple(self._detached(each) for each in result)
        if not isinstance(result, torch.Tensor) or not result.requires_grad:
            return result
        self.touched += 1
        return result.detach()
