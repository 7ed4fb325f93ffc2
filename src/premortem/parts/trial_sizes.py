"""One model at many sizes: does it run, and what comes out?"""

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from torch import Tensor, nn
from torch._subclasses import fake_tensor
from torch.utils._pytree import tree_map

from premortem.tensors.nested import tensors

Shapes = tuple[tuple[int, ...], ...]
_NEEDS_CONTENTS = (
    fake_tensor.DataDependentOutputException,
    fake_tensor.DynamicOutputShapeException,
    fake_tensor.UnsupportedFakeTensorException,
    fake_tensor.UnsupportedOperatorException,
)
_CONVOLUTIONS = (nn.Conv2d, nn.Conv3d)


class NotWithFakes(Exception):  # noqa: N818 - a property of the model
    """The model looks at values, or has an operation that torch cannot run without contents."""


class Trials:
    """Remembers what was tried. `fake`: with tensors that have a shape and no contents."""

    def __init__(self, model: nn.Module, example: Any, *, fake: bool) -> None:
        self._model, self._example, self._fake = model, example, fake
        first = next((t for t in tensors(example) if t.dim() >= 3), None)
        if first is None:
            raise ValueError(
                "needed_multiple needs an example with a batch of images: (N, C, H, W) or (N, C, T, H, W)"
            )
        self.example = (first.shape[-2], first.shape[-1])
        self._seen: dict[tuple[int, int], Shapes | None] = {}
        self._complaints: dict[tuple[int, int], str] = {}
        self._cropped: set[tuple[int, int]] = set()

    @property
    def sides(self) -> tuple[int, ...]:
        """Of the example; and when it is to run for real, sizes near it that have many divisors first."""
        rich = () if self._fake else tuple(-(-max(self.example) // each) * each for each in (672, 224))
        return (*rich, max(self.example), min(self.example))

    def shapes(self, height: int, width: int) -> Shapes | None:
        """Of everything that comes out; None when it does not run."""
        key = (height, width)
        if key not in self._seen:
            self._seen[key] = self._run(key)
        return self._seen[key]

    def works(self, height: int, width: int, start: int) -> bool:
        """It runs, and nothing is lost compared with `start`, a size with many divisors that runs."""
        found, before = self.shapes(height, width), self.shapes(start, start)
        if found is None or before is None or (height, width) in self._cropped:
            return False
        if list(map(len, found)) != list(map(len, before)):
            return True  # another kind of output; nothing to compare
        return all(
            self._in_step(new, old, (height, width), start) for new, old in zip(found, before, strict=True)
        )

    def _in_step(self, new: tuple[int, ...], old: tuple[int, ...], size: tuple[int, int], start: int) -> bool:
        """Each dimension of an output against the line through its sizes at `start` and at twice that."""
        for dim, (here, there) in enumerate(zip(new, old, strict=True)):
            is_side = len(new) >= 4 and dim >= len(new) - 2
            axes = [dim - len(new) + 2] if is_side else [axis for axis in (0, 1) if size[axis] != start]
            for axis in axes:
                if size[axis] == start:
                    continue
                slope = self._slope(axis, start, dim, old)
                expected = there + slope * (size[axis] - start) if slope else here
                if len(axes) == 2:
                    continue  # tokens: height times width; recognised when one of them changes alone
                if here < expected - 1e-6 or (is_side and slope >= 1 and here > expected + 1e-6):
                    self._complaints.setdefault(
                        size, f"an output that should have {expected:g} rows or columns has {here}"
                    )
                    return False
        return True

    def _slope(self, axis: int, start: int, dim: int, old: tuple[int, ...]) -> float:
        at_twice = self.shapes(*((2 * start, start) if axis == 0 else (start, 2 * start)))
        at_start = self.shapes(start, start)
        if at_twice is None or at_start is None:
            return 0.0
        place = at_start.index(old)
        return (at_twice[place][dim] - old[dim]) / start

    def runs(self, needed: Any) -> bool:
        """At the size of the example, rounded up to what is needed."""
        sizes = [
            math.ceil(side / each) * each
            for side, each in zip(self.example, (needed.height, needed.width), strict=True)
        ]
        return self.shapes(*((needed.height, needed.width) if needed.fixed else sizes)) is not None

    def complaint(self, height: int, width: int) -> str:
        self.shapes(height, width)
        return self._complaints.get((height, width), "nothing")

    def why(self, start: int, sides: list[int]) -> str:
        """The error at the size nearest to a good one."""
        if sides == [1, 1]:
            return ""
        near = sorted(self._complaints, key=lambda size: (abs(size[0] - start) + abs(size[1] - start), size))
        return self._complaints[near[0]] if near else "it fails"

    def _run(self, size: tuple[int, int]) -> Shapes | None:
        mode = fake_tensor.FakeTensorMode(allow_non_fake_inputs=True) if self._fake else nullcontext()
        try:
            with mode, self._watching(size):
                out = self._call(tree_map(lambda leaf: self._resized(leaf, size), self._example))
        except _NEEDS_CONTENTS as error:
            raise NotWithFakes from error
        except Exception as error:  # noqa: BLE001 - a model refuses a size in its own way: assert, ValueError, RuntimeError
            self._complaints[size] = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            return None
        return tuple(tuple(map(int, tensor.shape)) for tensor in tensors(out))

    def _call(self, inputs: Any) -> Any:
        if isinstance(inputs, dict):
            return self._model(**inputs)
        return self._model(*inputs) if isinstance(inputs, tuple) else self._model(inputs)

    def _resized(self, leaf: Any, size: tuple[int, int]) -> Any:
        if isinstance(leaf, Tensor) and leaf.dim() >= 3 and tuple(leaf.shape[-2:]) == self.example:
            return leaf.new_zeros((*leaf.shape[:-2], *size))
        return leaf

    @contextmanager
    def _watching(self, size: tuple[int, int]) -> Iterator[None]:
        """Convolutions that cut an image into patches side by side, and leave out what is too small for one."""

        def look(layer: Any, args: Any) -> None:
            sides = zip(args[0].shape[-2:], layer.kernel_size[-2:], strict=True)
            if any(side % kernel for side, kernel in sides):
                self._cropped.add(size)
                kernel = "×".join(map(str, layer.kernel_size))
                self._complaints.setdefault(
                    size, f"patches of {kernel} pixels leave out the last rows or columns"
                )

        handles = [
            layer.register_forward_pre_hook(look) for layer in self._model.modules() if _is_patches(layer)
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _is_patches(layer: nn.Module) -> bool:
    return (
        isinstance(layer, _CONVOLUTIONS)
        and tuple(layer.stride) == tuple(layer.kernel_size)
        and max(layer.kernel_size[-2:]) > 1
        and layer.padding in {(0, 0), (0, 0, 0), "valid"}
        and set(layer.dilation) == {1}
    )
