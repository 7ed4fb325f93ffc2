"""The workspace cuDNN borrows for a convolution.

Its kernels for tensor cores read channels last. Of tensors with channels first it makes copies in that order: input, weight
and output, for each of the three passes. The weight's gradient is summed up in parts, which have to be kept too.
Where there is no room for a workspace torch takes a kernel that needs none. A copy of a tensor in neither order is another
thing: torch makes it, and cannot do without.
Measured for 66 convolutions on an H200: bench/fit_scratch.py, bench/results/fit-scratch.json.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from premortem.fit.gpus import MIB

_PARTS = 14  # of a weight's gradient
_MOST_PARTS = 8 * MIB
_TILE = 64  # channels of a weight's gradient that are computed together
_LOW = (torch.bfloat16, torch.float16)
# Channels come in groups of so many; 0 where there is no such kernel.
_FORWARD = defaultdict(int, {torch.float32: 1, torch.bfloat16: 8, torch.float16: 4})
_BACKWARD = defaultdict(int, {torch.float32: 4, torch.bfloat16: 8, torch.float16: 8})


class Borrowed(NamedTuple):
    """Bytes of a copy and of a workspace, while one result is computed."""

    result: Tensor
    copy: int = 0
    workspace: int = 0


def forward(args: Sequence[Any], out: Tensor) -> Borrowed:
    x, weight = args[0], args[1]
    return Borrowed(out, _again(x, weight), _copies(x, weight, out, groups=args[8], to=_FORWARD[x.dtype]))


def backward(args: Sequence[Any], out: Sequence[Tensor | None]) -> Iterator[Borrowed]:
    """The gradients, in the order in which they are computed."""
    gradient, x, weight, groups = args[0], args[1], args[2], args[9]
    again = _again(gradient, weight, like=x)
    to_input, to_weight, to_bias = out
    copies = _copies(x, weight, gradient, groups=groups, to=_BACKWARD[x.dtype])
    if to_input is not None:
        yield Borrowed(to_input, again, copies)
    if to_weight is not None:
        yield Borrowed(to_weight, again, copies + _parts(x, weight, groups))
    if to_bias is not None:
        yield Borrowed(to_bias)


def _copies(x: Tensor, weight: Tensor, y: Tensor, *, groups: int, to: int) -> int:
    if _last(x) or _last(weight) or not to or _own_kernel(x, weight, groups):
        return 0
    if weight.shape[2:].numel() == 1:
        return 0  # a matrix product
    if min(x.shape[1], weight.shape[1]) == 1 and x.dtype not in _LOW:
        return 0
    return _padded(x, to) + _size(weight) + _padded(y, to)


def _padded(x: Tensor, to: int) -> int:
    """With as many channels as the kernels read at once."""
    return _size(x) // max(x.shape[1], 1) * -(-x.shape[1] // to) * to


def _size(x: Tensor) -> int:
    return x.numel() * x.element_size()


def _parts(x: Tensor, weight: Tensor, groups: int) -> int:
    if _own_kernel(x, weight, groups):
        return 0
    rows = -(-weight.shape[0] // _TILE) * _TILE
    return min(_PARTS * rows * weight.shape[1:].numel() * 4, _MOST_PARTS)


def _again(x: Tensor, weight: Tensor, like: Tensor | None = None) -> int:
    """A tensor in neither order is copied first."""
    last = _last(x if like is None else like) or _last(weight)
    return 0 if _last(x) or (x.is_contiguous() and not last) else _size(x)


def _own_kernel(x: Tensor, weight: Tensor, groups: int) -> bool:
    """torch has a kernel of its own for one channel at a time."""
    return groups > 1 and groups == x.shape[1] and not _last(x)


def _last(x: Tensor) -> bool:
    order = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
    return x.dim() in {4, 5} and x.is_contiguous(memory_format=order) and not x.is_contiguous()
