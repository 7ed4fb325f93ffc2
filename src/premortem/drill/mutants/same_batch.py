"""The same batch is trained on in every step."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from premortem.drill.mutants.base import Mutant
from premortem.drill.stage import in_training


class SameBatch(Mutant):
    """The same batch is trained on in every step."""

    name = "same-batch"
    families = frozenset({"data-order"})
    needs = "trains on no batch of a constant size"

    def over(self) -> None:
        self._first: dict[Any, torch.Tensor] = {}
        self.stage.on_call(self._call)
        self.stage.on_target(lambda target: self._kept("target", target) if torch.is_grad_enabled() else target)

    def _call(self, call: Callable[..., Any], module: nn.Module, depth: int) -> Callable[..., Any]:
        return functools.partial(self._again, call, module) if not depth and in_training(module) else call

    def _again(self, call: Callable[..., Any], module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return call(*(self._kept((id(module), i), value) for i, value in enumerate(args)), **kwargs)

    def _kept(self, place: Any, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.requires_grad:
            return value
        first = self._first.setdefault((place, value.shape, value.dtype), value)
        self.touched += first is not value
        return first
