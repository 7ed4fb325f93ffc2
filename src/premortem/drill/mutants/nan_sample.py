"""One sample holds a NaN."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from premortem.drill.mutants.base import Mutant
from premortem.drill.stage import in_training


class NanSample(Mutant):
    """One sample holds a NaN."""

    name = "nan-sample"
    families = frozenset({"numerics-nan", "numerics-masked"})
    needs = "gives its model no floating-point input"

    def over(self) -> None:
        self._calls = 0
        self.stage.on_call(self._call)

    def _call(self, call: Callable[..., Any], module: nn.Module, depth: int) -> Callable[..., Any]:
        return functools.partial(self._spoiled, call) if not depth and in_training(module) else call

    def _spoiled(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._calls += 1
        first = args[0] if args else None
        if self._calls != _AT or not isinstance(first, torch.Tensor) or not first.is_floating_point():
            return call(*args, **kwargs)
        first = first.clone()
        first.view(-1)[first.numel() // 2] = float("nan")
        self.touched += 1
        return call(first, *args[1:], **kwargs)


_AT = 12  # the batch it is in
