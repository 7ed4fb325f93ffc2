"""A sample as bytes: tensors and arrays as they lie in memory, everything around them as a pickle."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

Fetch = Callable[[int, int], bytearray]  # from, how many -> bytes that are not shared


class Unfit(Exception):  # noqa: N818 - a state of the sample; the text is a sentence for people
    """A sample that cannot be held."""


class Encoded(NamedTuple):
    """`chunks` one after the other, then `tail`, which holds the structure and refers to places in them."""

    chunks: list[Tensor]
    tail: bytes

    @property
    def size(self) -> int:
        return sum(chunk.numel() for chunk in self.chunks) + len(self.tail)

    def same_as(self, other: Encoded) -> bool:
        return (
            self.tail == other.tail
            and len(self.chunks) == len(other.chunks)
            and all(map(torch.equal, self.chunks, other.chunks))
        )


def encode(sample: Any) -> Encoded:
    file = io.BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump(sample)
    except Unfit:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the sample's own classes raise
        raise Unfit(f"it cannot be pickled: {type(error).__name__}: {error}") from None
    return Encoded(pickler.chunks, file.getvalue())


def decode(tail: bytes | bytearray, fetch: Fetch) -> Any:
    return _Unpickler(tail, fetch).load()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.chunks: list[Tensor] = []
        self._place = 0

    def persistent_id(self, value: Any) -> Any:
        if type(value) is Tensor:
            return self._tensor(value)
        numpy = sys.modules.get("numpy")
        if numpy is not None and type(value) is numpy.ndarray and not value.dtype.hasobject:
            return self._array(numpy, value)
        return None

    def _tensor(self, value: Tensor) -> Any:
        if value.device.type != "cpu":
            raise Unfit(f"it holds a tensor on {value.device}, and the cache is in host memory")
        if value.requires_grad:
            raise Unfit("it holds a tensor that requires a gradient")
        if value.layout is not torch.strided or value.is_quantized:
            return None
        order = _order(value.stride(), value.shape)
        dense = value.resolve_conj().resolve_neg().permute(order)
        if not dense.is_contiguous():
            order, dense = list(range(value.dim())), value.contiguous()
        place = self._add(dense.reshape(-1).view(torch.uint8))
        return "tensor", place, value.dtype, tuple(dense.shape), order

    def _array(self, numpy: Any, value: Any) -> Any:
        order = _order(value.strides, value.shape)
        dense = value.transpose(order)
        if not dense.flags.c_contiguous:
            order, dense = list(range(value.ndim)), numpy.ascontiguousarray(value)
        flat = dense.reshape(-1).view(numpy.uint8)
        if not flat.flags.writeable:  # torch would warn about writes, and there are none
            flat = flat.copy()
        return "array", self._add(torch.from_numpy(flat)), value.dtype, dense.shape, order

    def _add(self, chunk: Tensor) -> tuple[int, int]:
        start, self._place = self._place, self._place + chunk.numel()
        self.chunks.append(chunk)
        return start, chunk.numel()


class _Unpickler(pickle.Unpickler):
    def __init__(self, tail: bytes | bytearray, fetch: Fetch) -> None:
        super().__init__(io.BytesIO(tail))
        self._fetch = fetch

    def persistent_load(self, pid: Any) -> Any:
        kind, place, dtype, shape, order = pid
        data = self._fetch(*place)
        if kind == "tensor":
            flat: Any = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
        else:
            flat = (
                sys.modules["numpy"].frombuffer(data, dtype) if data else sys.modules["numpy"].empty(0, dtype)
            )
        whole = flat.reshape(shape)
        if order == sorted(order):
            return whole
        back = [order.index(dim) for dim in range(len(order))]
        return whole.permute(back) if kind == "tensor" else whole.transpose(back)


def _order(strides: Any, shape: Any) -> list[int]:
    """The dimensions from the outermost in memory to the innermost, so that channels last stays channels last."""
    return sorted(range(len(shape)), key=lambda dim: -strides[dim])
