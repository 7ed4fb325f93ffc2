"""Channels last, where it pays."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from premortem.parts.layout_report import LayoutReport
from premortem.parts.preserved import evaluating, preserved
from premortem.tensors.nested import tensors

FORMATS: dict[int, torch.memory_format] = {4: torch.channels_last, 5: torch.channels_last_3d}
CONVOLUTIONS = (nn.Conv2d, nn.ConvTranspose2d, nn.Conv3d, nn.ConvTranspose3d)
ROUNDS = 7  # of each format, in turn
PAYS = 0.97  # of the time before: less of a gain is noise on most machines
TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-6}  # of the largest output; of half precision 0.05


def channels_last(model: nn.Module, example: Any = None, *, rounds: int = ROUNDS) -> LayoutReport:
    """Converts the weights of convolutions, each to the format of its own dimensions, and keeps that if it is faster.

    ## Why it matters
    `model.to(memory_format=torch.channels_last)` raises on the weights of a Conv3d, which are 5-D and want `channels_last_3d`. On others it
    does nothing that is felt where a reshape turns the activations back, and on some devices and sizes it is slower. So the
    formats are set layer by layer, the example is run through to see whether the activations follow, and forward and backward
    pass are timed in both formats in turn. The faster one stays.

    ## Example
    >>> import torch
    >>> from premortem.parts import channels_last
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3))
    >>> report = channels_last(model, torch.rand(2, 3, 32, 32))
    >>> report.convolutions, report.followed, report.kept == (report.ratio < 0.97)
    (2, 2, True)
    >>> model[0].weight.is_contiguous(memory_format=torch.channels_last) == report.kept
    True

    ## What to know
    - `example` is a batch: a tensor, a tuple or a dictionary. Without one nothing is measured and the format stays.
    - Call it where the model trains: on its device, inside its autocast. The numbers of both formats are compared; where they differ by
      more than rounding, the model stays as it was.
    - Inputs need no conversion: a convolution whose weight is in this format converts what it is given, and hands on its format.
    - Parameters stay the same objects, so an optimizer that holds them goes on. Buffers, modes, gradients and random
      generators are as before.
    """
    layers = [layer for layer in model.modules() if isinstance(layer, CONVOLUTIONS)]
    report = LayoutReport(convolutions=len(layers))
    if not layers:
        return report.because("the model has no two- or three-dimensional convolutions")
    if all(_is_set(layer.weight) for layer in layers):
        return report.because("the convolutions have it already", kept=True)
    if example is None:
        _convert(layers, last=True)
        return report.because("not measured: there was no example", kept=True)
    with preserved(model):
        report = _measured(model, layers, example, rounds, report)
    _convert(layers, last=report.kept)
    return report


def _measured(
    model: nn.Module, layers: Sequence[nn.Module], example: Any, rounds: int, report: LayoutReport
) -> LayoutReport:
    step = _Step(model, example)
    plain = step.outputs()
    _convert(layers, last=True)
    followed = step.following(layers)
    difference = _difference(plain, step.outputs())
    report = report.seen(followed=followed, difference=difference)
    limit = max((TOLERANCE.get(tensor.dtype, 0.05) for tensor in plain), default=0.05)
    if not difference <= limit:
        return report.because(
            f"the outputs differ by {difference:.2g} of the largest, which is more than rounding"
        )
    times: dict[bool, list[float]] = {False: [], True: []}
    for number in range(rounds + 1):
        for last in (
            (False, True) if number % 2 else (True, False)
        ):  # in turn: machines get warm, and others come and go
            _convert(layers, last=last)
            step.run()  # the format is new to the allocator and to the choice of kernels
            times[last].append(step.seconds())
    before, after = (statistics.median(times[last][1:]) for last in (False, True))
    return report.timed(before, after, kept=after / before < PAYS)


class _Step:
    """One forward pass, and a backward pass where the model trains; gradients go nowhere."""

    def __init__(self, model: nn.Module, example: Any) -> None:
        self._model, self._example = model, example
        self._weights = [weight for weight in model.parameters() if weight.requires_grad]
        first = next(iter(tensors(example)), None)
        self._on_gpu = first is not None and first.is_cuda

    def run(self) -> Any:
        inputs = tree_map(lambda leaf: leaf.detach() if isinstance(leaf, Tensor) else leaf, self._example)
        if isinstance(inputs, dict):
            out = self._model(**inputs)
        else:
            out = self._model(*inputs) if isinstance(inputs, tuple) else self._model(inputs)
        sums = [t.float().sum() for t in tensors(out) if t.requires_grad and t.is_floating_point()]
        if sums and self._weights:
            torch.autograd.grad(torch.stack(sums).sum(), self._weights, allow_unused=True)
        return out

    def seconds(self) -> float:
        self._wait()
        begin = time.perf_counter()
        self.run()
        self._wait()
        return time.perf_counter() - begin

    def outputs(self) -> list[Tensor]:
        """In eval mode: what dropout draws depends on the order in memory."""
        with preserved(self._model), evaluating(self._model):
            return [tensor.detach().clone() for tensor in tensors(self.run()) if tensor.is_floating_point()]

    def following(self, layers: Sequence[nn.Module]) -> int:
        """How many convolutions hand on what they were given in their own format."""
        found: dict[int, bool] = {}

        def look(layer: nn.Module, args: Any, out: Any) -> None:
            found[id(layer)] = not _shows_layout(out) or out.is_contiguous(memory_format=FORMATS[out.dim()])

        handles = [layer.register_forward_hook(look) for layer in layers]
        try:
            with preserved(self._model), evaluating(self._model):
                self.run()
        finally:
            for handle in handles:
                handle.remove()
        return sum(found.values())

    def _wait(self) -> None:
        if self._on_gpu:
            torch.cuda.synchronize()


def _convert(layers: Sequence[nn.Module], *, last: bool) -> None:
    for layer in layers:
        weight = layer.weight
        assert isinstance(weight, Tensor)  # noqa: S101 - convolutions have one
        layout = FORMATS[weight.dim()] if last else torch.contiguous_format
        weight.data = weight.data.contiguous(memory_format=layout)


def _is_set(weight: Tensor) -> bool:
    return weight.is_contiguous(memory_format=FORMATS[weight.dim()]) and _shows_layout(weight)


def _shows_layout(tensor: Tensor) -> bool:
    """With one channel, or one pixel, both formats are the same."""
    return tensor.dim() in FORMATS and tensor.shape[1] > 1 and tensor[0, 0].numel() > 1


def _difference(some: list[Tensor], others: list[Tensor]) -> float:
    """The largest, as a share of the largest value."""
    shares = [
        float((one.double() - other.double()).abs().max() / one.double().abs().max().clamp(min=1e-12))
        for one, other in zip(some, others, strict=True)
        if one.numel()
    ]
    return max(shares, default=0.0)
