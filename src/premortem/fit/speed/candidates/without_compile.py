"""The same without the script's own torch.compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import nn

from premortem.fit.speed.candidates.base import Candidate
from premortem.fit.speed.candidates.compile_model import already


class WithoutCompile(Candidate):
    """The script's own `torch.compile` is left out: does it pay at all?"""

    name: ClassVar[str] = "without-compile"
    explains: ClassVar[bool] = True

    def obstacle(self) -> str:
        return "" if already(self.scene.roots) else "the script does not compile its model"

    def call(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        inner = getattr(root, "_orig_mod", root)
        with torch.compiler.set_stance("force_eager"):
            return inner._call_impl(*args, **kwargs)

    def how(self) -> str:
        return "leave torch.compile out"
