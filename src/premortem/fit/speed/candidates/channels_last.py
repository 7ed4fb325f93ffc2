"""Channels last, for the layers that it is for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import nn

from premortem.fit.speed.candidates.base import Candidate

_FORMATS: dict[int, torch.memory_format] = {4: torch.channels_last, 5: torch.channels_last_3d}
_CONVOLUTIONS = (nn.Conv2d, nn.ConvTranspose2d, nn.Conv3d, nn.ConvTranspose3d)


class ChannelsLast(Candidate):
    """Convolutions keep the channels innermost: `channels_last` for two dimensions, `channels_last_3d` for three.

    Only weights of convolutions are converted, each to the format of its own dimensions. Inputs are converted
    where they go to such a convolution as they are: a five-dimensional clip that the model folds into images stays as it is."""

    name: ClassVar[str] = "channels-last"

    def __init__(self, scene: Any) -> None:
        super().__init__(scene)
        self._layers = [part for part in scene.modules() if isinstance(part, _CONVOLUTIONS)]
        self._handles: list[Any] = []
        self._followed: dict[int, bool] = {}

    def obstacle(self) -> str:
        if not self._layers:
            return "the model has no two- or three-dimensional convolutions"
        if all(_follows(layer.weight) for layer in self._layers if _tells(layer.weight)):
            return "the convolutions have it already"
        return ""

    def apply(self) -> None:
        for layer in self._layers:
            weight = layer.weight
            self._convert(weight, _FORMATS[weight.dim()])
            if self.watched:
                self._handles.append(layer.register_forward_hook(self._look))

    def revert(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        for layer in self._layers:
            self._convert(layer.weight, torch.contiguous_format)

    def _convert(self, weight: torch.Tensor, format_: torch.memory_format) -> None:
        weight.data = weight.data.contiguous(memory_format=format_)
        if weight.grad is not None:
            weight.grad = None
        for held, name in self.scene.states(weight):  # strides that differ cost the optimizer its fast path
            held[name] = held[name].contiguous(memory_format=format_)

    def _look(self, layer: nn.Module, args: Any, result: torch.Tensor) -> None:
        if _tells(result):
            self._followed[id(layer)] = _follows(result)

    def call(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        sizes = {layer.weight.dim() for layer in self._layers}
        wanted = sizes.pop() if len(sizes) == 1 else 0  # both kinds: the model has its own way between them

        def converted(leaf: Any) -> Any:
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and leaf.dim() == wanted:
                return leaf.contiguous(memory_format=_FORMATS[wanted])
            return leaf

        return run(*map(converted, args), **{name: converted(value) for name, value in kwargs.items()})

    def in_force(self) -> str:
        if not self.watched:
            return ""
        followed = sum(self._followed.values())
        return f"the outputs of {followed} of {len(self._layers)} convolutions followed"

    def how(self) -> str:
        kinds = sorted({layer.weight.dim() for layer in self._layers})
        formats = " and ".join(
            f"torch.{'channels_last' if size == 4 else 'channels_last_3d'}" for size in kinds
        )
        if len(kinds) == 1:
            return f"model = model.to(memory_format={formats}), and the same for its inputs of {kinds[0]} dimensions"
        return f"convert the weights of each convolution to {formats}, by its dimensions; model.to(memory_format=...) would raise"


def _follows(tensor: torch.Tensor) -> bool:
    return tensor.is_contiguous(memory_format=_FORMATS[tensor.dim()])


def _tells(tensor: torch.Tensor) -> bool:
    """With one channel, or one pixel, both formats are the same."""
    return tensor.dim() in _FORMATS and tensor.shape[1] > 1 and tensor[0, 0].numel() > 1
