"""The workspace cuDNN borrows for a convolution.

Its kernels for tensor cores read channels last. Of tensors with channels first it makes copies in that order, filled up to
the number of channels that is read at once. A weight's gradient is summed up in parts, as many as the processors of the card
can work on; small ones in 32 bits are computed with Winograd's tiles, some others with Fourier transforms, whose workspace
is many times larger. Few channels, and filters of one pixel, need no copies.
Where there is no room for a workspace torch takes a kernel that needs none. A copy of a tensor in neither order is another
thing: torch makes it, and cannot do without.

The sizes are arithmetic; which kernel is taken is cuDNN's own guess at the fastest, of which this knows the outlines. They
were drawn from one half of 6037 random convolutions on an H200 (for Fourier transforms from all); of the other half 73 % of
the forward passes, 81 % of the inputs' and 43 % of the weights' gradients are right within 1 %. The number of parts is the
least certain. Six in a hundred are off by more than 16 MiB, half of them on the safe side.
bench/fit_scratch.py measures, bench/results/fit-scratch.json and fit-scratch-grid.json hold what it found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from premortem.fit.reductions import rounded_up

_LOW = (torch.bfloat16, torch.float16)
_PROCESSORS = 132  # of an H100 or H200
_TILE = 128  # channels and filters that are computed together
# Between these kernels the choice changes:
_FEW, _MANY = 8, 192  # channels
_SHORT = 86  # products in one sum
_SMALL, _MEDIUM, _LARGE = 2**27, 2**29, 2**30  # products in all
_WIDE = 2**17  # values of one channel


class Borrowed(NamedTuple):
    """Bytes of a copy and of a workspace, while one result is computed."""

    result: Tensor
    copy: int = 0
    workspace: int = 0


def forward(args: Sequence[Any], out: Tensor) -> Borrowed:
    x, weight = args[0], args[1]
    shapes = _Shapes.of(x, weight, out, args[3:9])
    workspace = _to_input(shapes) if args[6] else _forward(shapes)
    return Borrowed(out, _again(x, weight), workspace)


def backward(
    args: Sequence[Any], out: Sequence[Tensor | None], processors: int = _PROCESSORS
) -> Iterator[Borrowed]:
    """The gradients, in the order in which they are computed."""
    gradient, x, weight = args[0], args[1], args[2]
    again = _again(gradient, weight, like=x)
    to_input, to_weight, to_bias = out
    shapes = _Shapes.of(x, weight, gradient, args[4:10])
    if to_input is not None:
        yield Borrowed(to_input, again, _forward(shapes) if args[7] else _to_input(shapes))
    if to_weight is not None:
        yield Borrowed(to_weight, again, _to_weight(shapes, processors))
    if to_bias is not None:
        yield Borrowed(to_bias)


class _Shapes(NamedTuple):
    """A transposed convolution is the gradient of another one: its input is that one's output."""

    x: Tensor
    weight: Tensor
    y: Tensor
    groups: int
    strided: bool
    square: bool  # two dimensions, one group
    simple: bool  # also in 32 bits, without steps or holes

    @classmethod
    def of(cls, x: Tensor, weight: Tensor, y: Tensor, rest: Sequence[Any]) -> _Shapes:
        stride, _, dilation, transposed, _, groups = rest
        if transposed:
            x, y = y, x
        sides = weight.shape[2:]
        square = len(sides) == 2 and sides[0] == sides[1] and groups == 1
        plain = max(*stride, *dilation) == 1 and not _last(x) and not _last(weight)
        return cls(
            x, weight, y, groups, max(stride) > 1, square, plain and square and x.dtype == torch.float32
        )

    @property
    def taps(self) -> int:
        """Of a filter."""
        return self.weight.shape[2:].numel()

    @property
    def channels(self) -> int:
        """That one filter reads: those of its group."""
        return self.weight.shape[1]

    @property
    def filters(self) -> int:
        return self.weight.shape[0]

    @property
    def places(self) -> int:
        """Where each filter is applied."""
        return self.y.numel() // max(self.y.shape[1], 1)

    @property
    def work(self) -> int:
        return self.places * self.weight.numel()

    @property
    def low(self) -> bool:
        return self.x.dtype in _LOW

    @property
    def own_kernel(self) -> bool:
        """torch has one of its own for a channel at a time; other types than these have no tensor cores."""
        alone = self.groups > 1 and self.groups == self.x.shape[1] and not _last(self.x)
        return alone or not (self.low or self.x.dtype == torch.float32)

    def copies(self, to: int = 0, *, weight: bool = True, y: bool = True) -> int:
        """Channels last, and filled up; of tensors that are so already, those that have to be filled up."""
        to = to or (8 if self.low else 4)
        last = _last(self.x) or _last(self.weight)
        full = [tensor.shape[1] % to == 0 for tensor in (self.x, self.y)]
        size = 0 if last and full[0] else _padded(self.x, to)
        if y:
            size += 0 if last and full[1] else _padded(self.y, to)
        if weight and not (last and all(full)):
            size += (
                rounded_up(self.filters, to)
                * rounded_up(self.channels, to)
                * self.taps
                * self.x.element_size()
            )
        return size


def _forward(c: _Shapes) -> int:
    if c.own_kernel:
        return 0
    if c.taps == 1:
        return c.copies(weight=False) if c.strided and (c.low or c.filters >= _MANY) else 0
    few = c.x.shape[1] < _FEW
    if c.low:
        tiny = c.x.shape[1] == 1 or (c.x.shape[1] < 4 and (c.taps < 25 or c.x.dim() == 5))
        if tiny or (few and c.work < _SMALL):
            return 0
        return c.copies(4 if few and c.x.dtype == torch.float16 else 8)
    if c.channels == 1 or (few and c.channels * c.taps <= _SHORT):
        return 0
    if c.square and c.taps == 9:
        narrow = c.filters < 96 and c.channels <= (32 if c.strided else 16)
        if narrow and c.work < _MEDIUM:
            return 0
        if c.channels <= (64 if c.filters == _TILE else 16) and c.filters >= _TILE:
            return c.copies(1, y=False)  # written with channels first
    return c.copies(1 if c.channels < 96 else 4)


def _to_input(c: _Shapes) -> int:
    if c.own_kernel:
        return 0
    if c.taps == 1:
        wide = c.channels >= _MANY and c.filters >= 64
        return c.copies(weight=False) if c.strided and (c.low or wide) else 0
    if not c.low and (c.channels == 1 or c.x.shape[1] < _FEW or c.work < _SMALL):
        return 0
    return c.copies()


def _to_weight(c: _Shapes, processors: int) -> int:
    if c.own_kernel:
        return 0
    if c.taps == 1 and not c.strided and not _last(c.x):
        samples = c.x.shape[0]
        each = samples * c.weight.numel() * 4  # a matrix product, and a sum of its own for each sample
        narrow = c.simple and max(c.filters, c.channels) <= 32 and samples <= 8
        return c.copies() + _parts(c, processors) if narrow or each > 2 * c.copies() else each
    if not c.low:
        if c.taps == 1 and c.filters <= c.channels and not _last(c.x):
            return 0
        short = c.x.shape[1] < _FEW and c.places > _WIDE and c.taps < 49
        if c.x.dim() == 4 and (short or c.channels == 1):
            return 0
    return (
        _fourier(c) or _winograd(c) or c.copies(0 if c.low or c.channels > 1 else 1) + _parts(c, processors)
    )


def _fourier(c: _Shapes) -> int:
    """Input and output, or all pairs of channels, as spectra; the side is the next power of two."""
    if not (c.simple and c.channels >= 32 and 32 <= c.filters <= 64):
        return 0
    n, side, k = c.x.shape[0], max(c.x.shape[2:]), c.weight.shape[2]
    if side > 32 or k < 3 or (k < 5 and (not 64 <= n <= 128 or c.places < 25_000)):
        return 0
    side = 1 << (side + k - 2).bit_length()
    spectrum = 2 * 8 * side * (side // 2 + 1)
    return _size(c.y) + spectrum * max(n * (c.channels + c.filters), c.channels * c.filters)


def _winograd(c: _Shapes) -> int:
    """Tiles of 4 x 4 that become 6 x 6, of input, output and weight."""
    if not (c.simple and c.taps == 9 and min(c.channels, c.filters) >= 32 and c.work < _LARGE):
        return 0
    tiles = c.x.shape[0] * math.prod(-(-side // 4) for side in c.y.shape[2:])
    return 36 * 4 * (tiles * (c.channels + c.filters) + c.channels * c.filters)


def _parts(c: _Shapes, processors: int) -> int:
    """A weight's gradient is summed up in as many parts as the card has processors for; they are kept in 32 bits."""
    if not c.low and c.taps == 49:
        return 7 * c.weight.numel() * 4 if c.filters < 512 or c.channels < 96 else 0
    wide = min(_TILE, rounded_up(c.channels, 64))
    tall = min(_TILE**2 // wide, rounded_up(c.filters, 64))
    tiles = -(-c.filters // tall) * -(-c.channels // wide) * c.taps
    parts = min(processors // max(tiles, 1), c.places // (tall * wide // 2 if c.low else 1024))
    kept = parts * tiles if parts > 1 else 0
    waves = -(-tiles // processors)
    if not (kept or c.low) and tiles > processors / 2 and tiles < waves * processors * 2 / 3:
        kept = waves * processors // 2  # they would leave a third of the card idle: half of them are split
    return kept * tall * wide * 4


def _padded(x: Tensor, to: int) -> int:
    """With as many channels as the kernels read at once."""
    return _size(x) // max(x.shape[1], 1) * rounded_up(x.shape[1], to)


def _size(x: Tensor) -> int:
    return x.numel() * x.element_size()


def _again(x: Tensor, weight: Tensor, like: Tensor | None = None) -> int:
    """A tensor in neither order is copied first."""
    last = _last(x if like is None else like) or _last(weight)
    return 0 if _last(x) or (x.is_contiguous() and not last) else _size(x)


def _last(x: Tensor) -> bool:
    order = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
    return x.dim() in {4, 5} and x.is_contiguous(memory_format=order) and not x.is_contiguous()
