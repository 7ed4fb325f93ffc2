"""LSTM, GRU and RNN as cuDNN runs them: one kernel for the whole sequence, which keeps a reserve for the backward pass.

On the CPU they are written out step by step, and would keep far more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
# What cuDNN keeps of each step of each layer, in hidden vectors: the gates and the cell, a GRU's candidates.
_KEPT = {"lstm": 5, "gru": 6, "rnn_tanh": 1, "rnn_relu": 1}
_CONSTANT = 16 << 20  # bytes of every workspace


class _Sequence(torch.autograd.Function):
    """Only sizes matter: what is kept, what is returned, what the gradients need."""

    @staticmethod
    def forward(
        ctx: Any,
        kind: str,
        flags: tuple[bool, bool, bool],
        layers: int,
        x: Tensor,
        states: int,
        *rest: Tensor,
    ) -> tuple[Tensor, ...]:
        train, both, dropout = flags
        hidden = rest[:states]
        size, directions = hidden[0].shape[-1], 2 if both else 1
        out = x.new_empty(*x.shape[:-1], size * directions)
        steps = x.shape[:-1].numel()
        between = layers - 1  # the output of each layer but the last
        masks = between if dropout else 0
        kept = steps * directions * size * (layers * _KEPT[kind] + between + masks)
        reserve = x.new_empty(kept if train else 0)
        _borrow(kind, x, steps * layers * directions * size, rest[states:])
        ends = tuple(state.new_empty(state.shape) for state in hidden)
        ctx.save_for_backward(x, out, reserve, *rest)
        ctx.kind, ctx.states, ctx.work = kind, states, steps * layers * directions * size
        return (out, *ends)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, _out, _reserve, *rest = ctx.saved_tensors
        made = [torch.empty_like(t) for t in (x, *rest)]
        _borrow(ctx.kind, x, ctx.work, rest[ctx.states :])
        return (None, None, None, made[0], None, *made[1:])


def _borrow(kind: str, x: Tensor, work: int, weights: Sequence[Tensor]) -> None:
    """The gates of all steps, the weights in cuDNN's order, and a constant."""
    count = work * _GATES[kind] + sum(weight.numel() for weight in weights)
    x.new_empty(count + _CONSTANT // x.element_size())


def recurrent(kind: str, random_state: Callable[[Tensor], None]) -> Callable[..., Any]:
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
        flags = (train or any(p.requires_grad for p in params), bidirectional, dropout > 0 and train)
        if flags[-1]:
            random_state(x)
        return _Sequence.apply(kind, flags, num_layers, x, len(states), *states, *params)  # type: ignore[no-any-return, no-untyped-call]

    return call


def packed(kind: str, random_state: Callable[[Tensor], None]) -> Callable[..., Any]:
    """The same for a packed sequence, in which all steps of all samples lie one after the other."""
    whole = recurrent(kind, random_state)

    def call(
        data: Tensor, batch_sizes: Tensor, hx: Any, params: Sequence[Tensor], *rest: Any
    ) -> tuple[Tensor, ...]:
        return whole(data, hx, params, *rest, False)  # type: ignore[no-any-return]

    return call
