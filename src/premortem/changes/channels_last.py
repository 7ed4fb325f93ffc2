from __future__ import annotations

from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Memory, RunDescription, Time
from premortem.changes.late import nn, torch


class ChannelsLast(Change):
    """Convolutions keep the channels innermost: `channels_last` for two dimensions, `channels_last_3d` for three.

    Only weights of convolutions are converted, each to the format of its own dimensions. Inputs are converted
    where they go to such a convolution as they are: a five-dimensional clip that the model folds into images stays as it is."""

    name = "channels-last"
    memory = Memory(
        title="keep the model and the images in torch.channels_last",
        cost="none where all layers support it; often faster with autocast",
    )
    time = Time()

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        if not run.convolutions:
            return "the model has no two- or three-dimensional convolutions"
        return "the convolutions have it already" if run.channels_last else ""

    def put_on(self) -> None:
        self._layers: list[nn.Module] = []
        self._followed: dict[int, bool] = {}
        self.reach.on_root(self._met)
        self.reach.on_root_call(self._called)

    def _met(self, root: nn.Module) -> None:
        new = convolutions(root)
        self._layers += new
        for layer in new:
            self._convert(layer.weight, format_of(layer.weight))
            if self.watched:
                self.reach.undoing(layer.register_forward_hook(self._look).remove)
            self.touched += 1

        def as_before() -> None:
            for layer in new:
                self._convert(layer.weight, torch.contiguous_format)

        self.reach.undoing(as_before)

    def _convert(self, weight: Any, format_: torch.memory_format) -> None:
        weight.data = weight.data.contiguous(memory_format=format_)
        weight.grad = None
        for optimizer in self.reach.optimizers:  # strides that differ cost the optimizer its fast path
            held = optimizer.state.get(weight, {})
            for name, value in held.items():
                if getattr(value, "shape", None) == weight.shape and value.dim() > 1:
                    held[name] = value.contiguous(memory_format=format_)

    def _look(self, layer: nn.Module, args: Any, result: torch.Tensor) -> None:
        if tells(result):
            self._followed[id(layer)] = follows(result)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        kinds = self._dimensions()

        def converted(leaf: Any) -> Any:
            # Both kinds: the model has its own way between them.
            fits = isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and [leaf.dim()] == kinds
            return leaf.contiguous(memory_format=format_of(leaf)) if fits else leaf

        return run(*map(converted, args), **{name: converted(value) for name, value in kwargs.items()})

    def _dimensions(self) -> list[int]:
        return sorted({layer.weight.dim() for layer in self._layers})  # type: ignore[operator]

    def in_force(self) -> str:
        if not self.watched:
            return ""
        return f"the outputs of {sum(self._followed.values())} of {len(self._layers)} convolutions followed"

    def how(self) -> str:
        kinds = self._dimensions()
        formats = " and ".join(
            f"torch.{'channels_last' if size == 4 else 'channels_last_3d'}" for size in kinds
        )
        if len(kinds) == 1:
            return f"model = model.to(memory_format={formats}), and the same for its inputs of {kinds[0]} dimensions"
        return f"convert the weights of each convolution to {formats}, by its dimensions; model.to(memory_format=...) would raise"


def convolutions(root: nn.Module) -> list[Any]:
    kinds = (nn.Conv2d, nn.ConvTranspose2d, nn.Conv3d, nn.ConvTranspose3d)
    return [part for part in root.modules() if isinstance(part, kinds)]


def format_of(tensor: torch.Tensor) -> torch.memory_format:
    return torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d


def follows(tensor: torch.Tensor) -> bool:
    return tensor.is_contiguous(memory_format=format_of(tensor))


def tells(tensor: torch.Tensor) -> bool:
    """With one channel, or one pixel, both formats are the same."""
    return tensor.dim() in {4, 5} and tensor.shape[1] > 1 and tensor[0, 0].numel() > 1
