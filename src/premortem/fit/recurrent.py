"""LSTM, GRU and RNN as cuDNN runs them: one kernel for the whole sequence, which keeps a reserve for the backward pass.

On the CPU they are written out step by step, and would keep far more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
# What cuDNN keeps of each step, in hidden vectors: the gates and, with an LSTM, the cell; a GRU's candidate.
_KEPT = {"lstm": 6, "gru": 5, "rnn_tanh": 1, "rnn_relu": 1}


class _Sequence(torch.autograd.Function):
    """Only sizes matter: what is kept, what is returned, what the gradients need."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        kind: str,
        flags: tuple[bool, bool],
        layers: int,
        x: Tensor,
        states: int,
        *rest: Tensor,
    ) -> tuple[Tensor, ...]:
        train, both = flags
        hidden = rest[:states]
        size, directions = hidden[0].shape[-1], 2 if both else 1
        out = x.new_empty(*x.shape[:-1], size * directions)
        steps = x.shape[:-1].numel()
        reserve = x.new_empty(steps * layers * directions * size * _KEPT[kind] if train else 0)
        ends = tuple(state.new_empty(state.shape) for state in hidden)
        ctx.save_for_backward(x, out, reserve, *rest)
        ctx.states = states
        return (out, *ends)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        x, _out, _reserve, *rest = ctx.saved_tensors
        made = [torch.empty_like(t) for t in (x, *rest)]
        return (None, None, None, made[0], None, *made[1:])


def recurrent(kind: str) -> Callable[..., Any]:
    def call(
        x: Tensor,
        hx: Any,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, ...]:
        states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
        if torch.is_autocast_enabled("cpu"):
            dtype = torch.get_autocast_dtype("cpu")
            x, states, params = x.to(dtype), [s.to(dtype) for s in states], [p.to(dtype) for p in params]
        flags = (train or any(p.requires_grad for p in params), bidirectional)
        return _Sequence.apply(kind, flags, num_layers, x, len(states), *states, *params)  # type: ignore[no-any-return]

    return call


def packed(kind: str) -> Callable[..., Any]:
    """The same for a packed sequence, in which all steps of all samples lie one after the other."""
    whole = recurrent(kind)

    def call(
        data: Tensor, batch_sizes: Tensor, hx: Any, params: Sequence[Tensor], *rest: Any
    ) -> tuple[Tensor, ...]:
        return whole(data, hx, params, *rest, False)  # type: ignore[no-any-return]

    return call
