"""One sample holds a NaN."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from premortem.drill.mutants.base import Mutant
from premortem.drill.script_calls import in_training


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
        if self._calls != _AT:
            return call(*args, **kwargs)
        return call(*(self._with_nan(each) for each in args), **self._with_nan(kwargs))

    def _with_nan(self, given: Any) -> Any:
        """The same with one number spoiled, in the first tensor that can hold NaN."""
        if type(given) in {list, tuple}:
            return type(given)(self._with_nan(each) for each in given)
        if type(given) is dict:
            return {name: self._with_nan(each) for name, each in given.items()}
        if self.touched or not isinstance(given, torch.Tensor) or not given.numel():
            return given
        if not given.is_floating_point() and not given.is_complex():
            return given
        given = given.clone()
        given.view(-1)[given.numel() // 2] = float("nan")
        self.touched += 1
        return given


_AT = 12  # the batch it is in
