"""LSTM, GRU and RNN as cuDNN runs them: one kernel for the whole sequence, which keeps a reserve for the backward pass.

On the CPU they are written out step by step, and would keep far more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from premortem.fit.gpus import MIB

# What cuDNN keeps of each step of each layer, in hidden vectors: the gates and the cell, a GRU's candidates.
_KEPT = {"lstm": 5, "gru": 6, "rnn_tanh": 1, "rnn_relu": 1}
_TAIL = 512  # bytes after it
_MASKS = 4  # elements of a dropout mask in one byte
# A workspace: the weights, a constant that grows with layers and directions, and for each step so many hidden vectors and
# so many of the widest input. A fit, not cuDNN's rule: to single layers (bench/fit_scratch.py) and to those of three of the
# benchmark's models on an H200. In 16 bits a very small layer takes 8 MiB less.
_CONSTANT = 16 * MIB
_HIDDEN = {"lstm": 3.2, "gru": 2.53, "rnn_tanh": 2.53, "rnn_relu": 2.53}
_INPUTS = {"lstm": 2.95, "gru": 2.74, "rnn_tanh": 2.74, "rnn_relu": 2.74}


class _Layers(NamedTuple):
    kind: str
    number: int
    directions: int
    train: bool
    dropout: bool
    turned: bool  # the batch comes first; cuDNN wants the time first

    def reserve(self, steps: int, size: int, element: int) -> int:
        between = self.number - 1  # the output of each layer but the last
        vectors = steps * self.directions * size
        masks = -(-vectors * between // _MASKS) if self.dropout else 0
        return vectors * (self.number * _KEPT[self.kind] + between) * element + masks + _TAIL

    def workspace(self, steps: int, size: int, width: int, weights: Tensor) -> int:
        widest = max(width, size * self.directions) if self.number > 1 else width
        each = _HIDDEN[self.kind] * size + _INPUTS[self.kind] * widest * self.directions
        constants = max(self.directions, self.number + self.directions - 2)
        return int((weights.numel() + each * steps) * weights.element_size()) + _CONSTANT * constants


class _Weights(torch.autograd.Function):
    """All weights in one piece. Copied where they are not, or where autocast makes them smaller."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *weights: Tensor) -> Tensor:
        ctx.kinds = [(weight.shape, weight.dtype) for weight in weights]
        count = sum(weight.numel() for weight in weights)
        first = weights[0]
        if first.dtype is dtype and first.untyped_storage().size() == count * first.element_size():
            return first.as_strided((count,), (1,), 0)
        return first.new_empty(count, dtype=dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        parts = grads[0].split([shape.numel() for shape, _ in ctx.kinds])
        made = [
            part.view(shape).to(dtype)
            for part, (shape, dtype) in zip(reversed(parts), reversed(ctx.kinds), strict=True)
        ]
        return (None, *reversed(made))


class _Sequence(torch.autograd.Function):
    """Only sizes matter: what is kept, what is returned, what the gradients need."""

    @staticmethod
    def forward(ctx: Any, layers: _Layers, x: Tensor, weights: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        size, steps = states[0].shape[-1], x.shape[:-1].numel()
        turned = x.transpose(0, 1) if layers.turned else x
        copy = turned.contiguous()
        out = x.new_empty(*turned.shape[:-1], size * layers.directions)
        ends = tuple(state.new_empty(state.shape) for state in states)
        ctx.layers, ctx.work = layers, layers.workspace(steps, size, x.shape[-1], weights)
        workspace = _bytes(x, ctx.work)
        reserve = _bytes(x, layers.reserve(steps, size, x.element_size()) if layers.train else 0)
        del workspace, copy
        out = out.transpose(0, 1) if layers.turned else out
        ctx.save_for_backward(*reversed(states), x, out, reserve, weights)
        return (out, *ends)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        layers: _Layers = ctx.layers
        *states, x, _out, _reserve, weights = ctx.saved_tensors
        turned = x.transpose(0, 1) if layers.turned else x
        gradient = grads[0].transpose(0, 1) if layers.turned else grads[0]
        copy, gradient = turned.contiguous(), gradient.contiguous()
        to_input = x.new_empty(turned.shape)
        to_states = [state.new_empty(state.shape) for state in reversed(states)]
        _bytes(x, ctx.work)
        del gradient, copy
        copy = turned.contiguous()
        to_weights = weights.new_zeros(weights.shape)
        _bytes(x, ctx.work)
        del copy
        return (None, to_input.transpose(0, 1) if layers.turned else to_input, to_weights, *to_states)


def _bytes(x: Tensor, size: int) -> Tensor:
    return x.new_empty(size, dtype=torch.uint8)


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
        layers = _Layers(
            kind,
            num_layers,
            directions=2 if bidirectional else 1,
            train=train or any(p.requires_grad for p in params),
            dropout=dropout > 0 and train,
            turned=batch_first,
        )
        if layers.dropout:
            random_state(x)
        narrow = torch.is_autocast_enabled("cpu")
        dtype = torch.get_autocast_dtype("cpu") if narrow else params[0].dtype
        weights = _Weights.apply(dtype, *params)  # type: ignore[no-untyped-call]
        if narrow:
            states = [state.to(dtype) for state in reversed(states)][::-1]
            x = x.to(dtype)
        return _Sequence.apply(layers, x, weights, *states)  # type: ignore[no-any-return, no-untyped-call]

    return call


def packed(kind: str, random_state: Callable[[Tensor], None]) -> Callable[..., Any]:
    """The same for a packed sequence, in which all steps of all samples lie one after the other."""
    whole = recurrent(kind, random_state)

    def call(
        data: Tensor, batch_sizes: Tensor, hx: Any, params: Sequence[Tensor], *rest: Any
    ) -> tuple[Tensor, ...]:
        return whole(data, hx, params, *rest, False)  # type: ignore[no-any-return]

    return call
