from __future__ import annotations

from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Harm
from premortem.changes.late import nn


class PartDetached(Change):
    """The output of the first layer is detached: it is never trained."""

    name = "part-detached"
    harm = Harm(families=frozenset({"grad-flow"}), needs="trains no model of several layers")

    def put_on(self) -> None:
        self._first: nn.Module | None = None
        self.reach.on_call(self._call)

    def _call(self, call: Callable[..., Any], module: nn.Module, depth: int) -> Callable[..., Any]:
        if self._first is None and depth and self.reach.in_training(module) and not any(module.children()):
            self._first = module
        if module is not self._first:
            return call
        return lambda *args, **kwargs: self._detached(call(*args, **kwargs))

    def _detached(self, result: Any) -> Any:
        if type(result) is tuple:  # a recurrent layer gives its state too
            return tuple(self._detached(each) for each in result)
        if not getattr(result, "requires_grad", False):
            return result
        self.touched += 1
        return result.detach()
