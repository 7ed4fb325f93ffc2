"""torch.compile on the whole model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import nn

from premortem.fit.speed.candidates.base import Candidate


class CompileModel(Candidate):
    """`torch.compile` on every model that the script calls."""

    name: ClassVar[str] = "compile"
    compiles: ClassVar[bool] = True
    explains: ClassVar[bool] = True

    def __init__(self, scene: Any) -> None:
        super().__init__(scene)
        self._compiled: dict[int, Callable[..., Any]] = {}

    def obstacle(self) -> str:
        return "the script compiles its model already" if already(self.scene.roots) else ""

    def call(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        compiled = self._compiled.get(id(root))
        if compiled is None:
            compiled = self._compiled[id(root)] = torch.compile(root._call_impl, backend=self.scene.backend)
        return compiled(*args, **kwargs)

    def how(self) -> str:
        return "model.compile()"


def already(roots: list[nn.Module]) -> bool:
    from torch._dynamo.eval_frame import OptimizedModule

    # What the stage puts there is no compiled call: it says so.
    return any(
        isinstance(part, OptimizedModule)
        or (part._compiled_call_impl is not None and not hasattr(part._compiled_call_impl, "premortem"))
        for root in roots
        for part in root.modules()
    )
