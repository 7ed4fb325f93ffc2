"""RMS norms and recurrent cells: one kernel each on a card, many small operations on a CPU, which keep other tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


class _Norm(torch.autograd.Function):
    """Kept are the input and one number for each row."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, size: int) -> tuple[Tensor, Tensor]:
        scale = x.new_empty(x.numel() // max(size, 1), dtype=torch.float32)
        ctx.save_for_backward(x, weight, scale)
        ctx.mark_non_differentiable(scale)
        ctx.set_materialize_grads(False)
        return torch.empty_like(x, memory_format=torch.contiguous_format), scale

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, _ = ctx.saved_tensors
        return torch.empty_like(x), None if weight is None else torch.empty_like(weight), None


def norm(on_card: Callable[[Any], bool]) -> Callable[..., Any]:
    def call(
        x: Tensor, shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
    ) -> tuple[Tensor, Tensor]:
        if on_card(x):
            return _Norm.apply(x, weight, math.prod(shape))  # type: ignore[no-any-return, no-untyped-call]
        last = tuple(range(x.dim() - len(shape), x.dim()))
        eps = torch.finfo(x.dtype).eps if eps is None else eps
        scale = torch.rsqrt(x.pow(2).mean(last, keepdim=True) + eps)
        return x * scale if weight is None else x * scale * weight, scale

    return call


class _Cell(torch.autograd.Function):
    """Of an LSTM. Both products with the weights are kept too: second derivatives are written out."""

    @staticmethod
    def forward(
        ctx: Any, from_input: Tensor, from_state: Tensor, state: Tensor, *biases: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        workspace = torch.empty_like(from_input)
        made = torch.empty_like(state), torch.empty_like(state)
        ctx.save_for_backward(from_input, from_state, state, made[1], workspace, *biases)
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from_input, _, state, *_, bias, other = ctx.saved_tensors
        gates = torch.empty_like(from_input)
        both = (gates.sum(0), gates.sum(0)) if bias is not None and other is not None else (None, None)
        return gates, gates, torch.empty_like(state), *both


class _Gated(torch.autograd.Function):
    """Of a GRU."""

    @staticmethod
    def forward(
        ctx: Any, from_input: Tensor, from_state: Tensor, state: Tensor, *biases: Tensor | None
    ) -> Tensor:
        workspace = state.new_empty(len(state), 5 * state.shape[1])
        ctx.save_for_backward(from_input, from_state, state, workspace, *biases)
        return torch.empty_like(state)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from_input, from_state, state, _, bias, other = ctx.saved_tensors
        one, two = torch.empty_like(from_input), torch.empty_like(from_state)
        both = (one.sum(0), two.sum(0)) if bias is not None and other is not None else (None, None)
        return one, two, torch.empty_like(state), *both


def _narrow(*tensors: Tensor | None) -> list[Any]:
    if not torch.is_autocast_enabled("cpu"):
        return list(tensors)
    dtype = torch.get_autocast_dtype("cpu")
    return [None if tensor is None else tensor.to(dtype) for tensor in tensors]


def lstm_cell(
    x: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    c, b_ih, b_hh = _narrow(hx[1], b_ih, b_hh)
    return _Cell.apply(F.linear(x, w_ih), F.linear(hx[0], w_hh), c, b_ih, b_hh)  # type: ignore[no-any-return, no-untyped-call]


def gru_cell(
    x: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    h, b_ih, b_hh = _narrow(hx, b_ih, b_hh)
    return _Gated.apply(F.linear(x, w_ih), F.linear(hx, w_hh), h, b_ih, b_hh)  # type: ignore[no-any-return, no-untyped-call]
