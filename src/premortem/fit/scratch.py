"""Memory that kernels borrow while they run, and that no tensor shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from premortem.fit import reductions
from premortem.fit.gpus import MIB, Gpu

MATRIX_PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "addbmm", "_addmm_activation", "linalg_lu_factor"}
_WITH_BIAS = {"addmm", "_addmm_activation"}
BIAS_WORKSPACE = MIB  # of the library that adds the bias in the same kernel
_REDUCTIONS = {"sum": 4, "mean": 4, "prod": 4, "linalg_vector_norm": 4, "norm": 4, "amax": 4, "amin": 4}
_REDUCTIONS |= {
    "any": 1,
    "all": 1,
    "var": 16,
    "std": 16,
    "var_mean": 16,
    "std_mean": 16,
    "argmax": 16,
    "argmin": 16,
}
_INT = 8
_COUNTERS = 512  # bytes: which parts of a split reduction are done
_BACKWARDS = {"native_dropout"}  # their kernels make the last result first
_SEEDED = {"_scaled_dot_product_flash_attention"}  # the state of the random numbers is made first
_FEW_LOOKUPS = 3072
_SHORT_ROW = 4096
_CUDNN_ATTENDS, _CUDNN_WIDEST = (
    {9, 10},
    128,
)  # generations of cards for which torch takes cuDNN's attention first


class Borrowed(NamedTuple):
    """Bytes that are taken before the results are made and after it. All are given back at the end."""

    before: Sequence[int] = ()
    after: Sequence[int] = ()


def borrowed(name: str, args: Sequence[Any], out: Any, gpu: Gpu) -> Borrowed:
    """What the CUDA kernel of an operation takes and gives back."""
    if name == "embedding_dense_backward":
        return _embedding(args)
    if name in _REDUCTIONS:
        size = _reduction(name, args, gpu)
        return Borrowed(after=(size, _COUNTERS)) if size else Borrowed()
    rule = _RULES.get(name)
    size = rule(args, out, gpu) if rule is not None else 0
    return Borrowed(after=(size,)) if size else Borrowed()


def in_order(name: str, results: Sequence[Any]) -> Sequence[Any]:
    """As the kernel makes them."""
    if name in _SEEDED:
        return sorted(results, key=lambda x: isinstance(x, Tensor) and x.dim() > 1)
    return results[::-1] if name in _BACKWARDS else results


def with_bias(name: str) -> bool:
    return name in _WITH_BIAS


def _reduction(name: str, args: Sequence[Any], gpu: Gpu) -> int:
    x = args[0]
    if not isinstance(x, Tensor) or not x.numel():
        return 0
    dims: Sequence[int] | None = next((a for a in args[1:] if isinstance(a, (list, tuple)) and a), None)
    if dims is None:
        single = (
            name in {"any", "all", "argmax", "argmin", "prod"} and len(args) > 1 and isinstance(args[1], int)
        )
        dims = [args[1]] if single else range(x.dim())
    reduced = [d % x.dim() for d in dims] if x.dim() else []
    accumulator = (
        8 if x.dtype in {torch.float64, torch.int64} and _REDUCTIONS[name] == 4 else _REDUCTIONS[name]
    )
    return reductions.buffer(x.shape, x.stride(), reduced, gpu=gpu, accumulator=accumulator)


def _flash_backward(args: Sequence[Any], out: Any, gpu: Gpu) -> int:
    """The gradient of q is summed up in 32 bits, and each row's product of output and gradient kept."""
    batch, heads, length, size = args[1].shape
    if gpu.capability[0] in _CUDNN_ATTENDS and size <= _CUDNN_WIDEST:
        return int(4 * batch * heads * length * (size + 1)) + _COUNTERS
    return int(4 * batch * heads * reductions.rounded_up(length, 128) * (reductions.rounded_up(size, 32) + 1))


def _efficient_backward(args: Sequence[Any], out: Any, gpu: Gpu) -> int:
    batch, heads, length, _ = args[1].shape
    return int(4 * batch * heads * reductions.rounded_up(length, 32))


def _softmax_backward(args: Sequence[Any], out: Any, gpu: Gpu) -> int:
    """The product of gradient and result."""
    gradient, result = args[0], args[1]
    return int(gradient.numel() * max(gradient.element_size(), result.element_size()))


def _norm_backward(args: Sequence[Any], out: Any, gpu: Gpu) -> int:
    """The kernel reads rows that lie one after the other."""
    gradient = args[0]
    return 0 if gradient.is_contiguous() else int(gradient.numel() * gradient.element_size())


def _sorted_indices(which: int) -> Callable[[Sequence[Any], Any, Gpu], int]:
    """The gradient of a lookup sorts the indices first: keys and values, each twice, and the sort's own room."""

    def rule(args: Sequence[Any], out: Any, gpu: Gpu) -> int:
        indices = args[which]
        if isinstance(indices, (list, tuple)):
            indices = next((i for i in indices if isinstance(i, Tensor)), None)
        return indices.numel() * _INT * 6 if isinstance(indices, Tensor) else 0

    return rule


def _index_put(args: Sequence[Any], out: Any, gpu: Gpu) -> int:
    accumulate = len(args) > 3 and args[3]
    return _sorted_indices(1)(args, out, gpu) if accumulate else 0


def _embedding(args: Sequence[Any]) -> Borrowed:
    """The indices are sorted. Rows that were looked up often are summed up in pieces of ten."""
    gradient, indices, rows = args[0], args[1], args[2]
    count = indices.numel()
    copy = () if gradient.is_contiguous() else (gradient.numel() * gradient.element_size(),)
    if count <= _FEW_LOOKUPS:
        return Borrowed(copy)
    pieces = count // 10 + min(count, rows)
    sorting = (count * _INT,) * 2
    return Borrowed(
        (*copy, *sorting), (*sorting, count * _INT, pieces * _INT, pieces * gradient.shape[-1] * 4)
    )


def _topk(args: Sequence[Any], out: Any, gpu: Gpu) -> int:
    """What was found is sorted afterwards."""
    return int(2 * sum(part.numel() * part.element_size() for part in out))


def _sort(args: Sequence[Any], out: Any, gpu: Gpu) -> int:
    """Short rows are sorted in place."""
    x = args[0]
    longest = max(x.shape, default=0)
    return int(x.numel() * (x.element_size() + 2 * _INT)) if longest > _SHORT_ROW else 0


_RULES: dict[str, Callable[[Sequence[Any], Any, Gpu], int]] = {
    "_scaled_dot_product_flash_attention_backward": _flash_backward,
    "_scaled_dot_product_cudnn_attention_backward": _flash_backward,
    "_scaled_dot_product_efficient_attention_backward": _efficient_backward,
    "_safe_softmax": lambda args, out, gpu: args[0].numel(),  # which scores are minus infinity
    "_softmax_backward_data": _softmax_backward,
    "native_layer_norm_backward": _norm_backward,
    "logsumexp": lambda args, out, gpu: args[0].numel() * args[0].element_size(),
    "topk": _topk,
    "_ctc_loss_backward": lambda args, out, gpu: args[6].numel() * args[6].element_size(),
    "randperm": lambda args, out, gpu: 41 * out.numel(),
    "index_put_": _index_put,
    "index_put": _index_put,
    "_index_put_impl_": _index_put,
    "sort": _sort,
    "argsort": _sort,
}
