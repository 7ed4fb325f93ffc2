"""The workspace cuDNN borrows for a convolution.

Its kernels for tensor cores read channels last. Of tensors with channels first it makes copies in that order: input, weight
and output of the forward pass, likewise for each of the two gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from premortem.fit.gpus import Gpu


def forward(args: Sequence[Any], out: Any, gpu: Gpu) -> int:
    x, weight = args[0], args[1]
    return _copies(x, weight, out, groups=args[8])


def backward(args: Sequence[Any], out: Any, gpu: Gpu) -> int:
    gradient, x, weight = args[0], args[1], args[2]
    return _copies(x, weight, gradient, groups=args[9])


def _copies(x: Tensor, weight: Tensor, y: Tensor, *, groups: int) -> int:
    if _channels_last(x) or x.dim() < 4:
        return 0
    if groups > 1 and groups == x.shape[1]:
        return 0  # torch has a kernel of its own for one channel at a time
    if x.dtype is torch.float64:
        return 0
    return sum(t.numel() * t.element_size() for t in (x, weight, y))


def _channels_last(x: Tensor) -> bool:
    order = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
    return x.dim() in {4, 5} and x.shape[1] > 1 and x.is_contiguous(memory_format=order)
