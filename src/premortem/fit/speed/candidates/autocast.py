"""bfloat16 autocast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import nn
from torch.utils import _pytree as tree

from premortem.fit.speed.candidates.base import Candidate

_LOW = frozenset({torch.float16, torch.bfloat16})
_CAST = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


class Autocast(Candidate):
    """The model runs under autocast in bfloat16; its outputs are handed on in float32."""

    name: ClassVar[str] = "autocast"
    exact: ClassVar[bool] = False

    def __init__(self, scene: Any) -> None:
        super().__init__(scene)
        self._layers = [part for part in scene.modules() if isinstance(part, _CAST)]
        self._handles: list[Any] = []
        self._low: set[int] = set()

    def obstacle(self) -> str:
        if self.scene.autocast:
            return "the script uses autocast already"
        if any(p.dtype in _LOW for root in self.scene.roots for p in root.parameters()):
            return "the weights have 16 bits already"
        if self.scene.device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
            return "this device has no bfloat16; float16 needs a GradScaler in the loop, which cannot be added from outside"
        return ""

    def call(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        with torch.autocast(self.scene.device.type, dtype=torch.bfloat16):
            result = run(*args, **kwargs)
        return tree.tree_map_only(torch.Tensor, _widened, result)

    def apply(self) -> None:
        if self.watched:
            self._handles = [layer.register_forward_hook(self._look) for layer in self._layers]

    def revert(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _look(self, layer: nn.Module, args: Any, result: Any) -> None:
        if isinstance(result, torch.Tensor) and result.dtype == torch.bfloat16:
            self._low.add(id(layer))

    def in_force(self) -> str:
        if not self.watched or not self._layers:
            return ""
        return f"{len(self._low)} of {len(self._layers)} linear layers and convolutions ran in bfloat16"

    def how(self) -> str:
        return f'with torch.autocast("{self.scene.device.type}", dtype=torch.bfloat16): around the forward pass and the loss'


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype == torch.bfloat16 else tensor
