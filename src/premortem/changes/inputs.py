"""What a model is given: standardised, noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Learning
from premortem.changes.batches import mapped, rows
from premortem.changes.late import nn, torch

_PICTURE = 4  # dimensions: (N, C, H, W) has its features in the second one, everything else in the last


class InputsStandardised(Change):
    """Each feature of the inputs has mean 0 and deviation 1, measured on the first batch that a model is given."""

    name = "inputs-standardised"
    learning = Learning(
        title="inputs standardised",
        question="inputs",
        family="data-scale",
        order=4,
        least=0.15,
        slow=True,
        finding="unnormalised-inputs",
        remedy="subtract the mean and divide by the deviation of each feature of the training set",
    )
    opening = ("odd_inputs", "the inputs have about mean 0 and deviation 1")

    def put_on(self) -> None:
        self._known: dict[tuple[int, int], Any] = {}
        self.reach.on_root_call(self._called)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        number = 0

        def standard(tensor: torch.Tensor) -> torch.Tensor:
            nonlocal number
            number += 1
            return self._standard(tensor, (id(root), number))

        return run(*mapped(args, standard), **mapped(kwargs, standard))

    def _standard(self, tensor: torch.Tensor, key: tuple[int, int]) -> torch.Tensor:
        if not tensor.is_floating_point() or tensor.dim() < 2 or tensor.requires_grad:
            return tensor
        if key not in self._known:
            mean, deviation = moments(tensor)
            self._known[key] = mean, torch.where(deviation > 1e-8, deviation, torch.ones_like(deviation))
        mean, deviation = self._known[key]
        if mean.dim() != tensor.dim() or any(
            m not in {1, t} for m, t in zip(mean.shape, tensor.shape, strict=True)
        ):
            return tensor
        self.touched += 1
        standard: torch.Tensor = ((tensor - mean) / deviation).to(tensor.dtype)
        return standard


class InputsNoise(Change):
    """While it is trained, a model is given noise in the place of its inputs."""

    name = "inputs-noise"
    learning = Learning(title="inputs replaced by noise", question="information", where_stuck=True)
    opening = ("targets", "the script compares nothing with labels through the losses of torch.nn.functional")

    def put_on(self) -> None:
        self.reach.on_root_call(self._called)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if not self.reach.in_training(root):
            return run(*args, **kwargs)
        size = rows((args, kwargs))
        draw = torch.Generator().manual_seed(0)

        def noise(tensor: torch.Tensor) -> torch.Tensor:
            if not tensor.dim() or len(tensor) != size or size < 2 or tensor.requires_grad:
                return tensor
            self.touched += 1
            order = torch.randperm(size, generator=draw).to(tensor.device)
            if not tensor.is_floating_point():
                return tensor[order]
            made = torch.randn(tensor.shape, generator=draw).to(tensor.device, tensor.dtype)
            return tensor.mean() + made * tensor.std()

        return run(*mapped(args, noise), **mapped(kwargs, noise))


def moments(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and deviation of each feature, in a shape that fits the tensor."""
    picture = tensor.dim() >= _PICTURE
    over = [0, *range(2, tensor.dim())] if picture else list(range(tensor.dim() - 1))
    numbers = tensor.detach().float()
    return numbers.mean(over, keepdim=True), numbers.std(over, keepdim=True)
