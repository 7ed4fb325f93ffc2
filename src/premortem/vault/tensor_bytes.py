"""From bytes in a file to a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from premortem.errors import MissingExtra, VaultError
from premortem.vault import dtypes
from premortem.vault.stubs import TensorStub

if TYPE_CHECKING:
    import torch

_MOST_REPEATED = 1 << 28  # elements of an expanded tensor, which is small in its file
_MOST_TIMES = 64
Fetch = Callable[[str, int, int], bytearray]  # storage, first byte, how many


def bytes_of(stub: TensorStub) -> int:
    """What the tensor takes when it stands alone. What is only repeated (an expanded tensor) counts once."""
    if stub.parts:
        return sum(map(bytes_of, stub.parts))
    if stub.note == "meta":
        return 0
    return min(math.prod(stub.shape), _span(stub)) * dtypes.BYTES.get(stub.dtype, 1)


def lift(name: str, stub: TensorStub, fetch: Fetch, *, big_endian: bool = False) -> torch.Tensor:
    """The tensor, in memory of its own. Raises VaultError."""
    needs_torch()
    import torch

    dtype = getattr(torch, stub.dtype, None)
    if stub.note == "torch.sparse_coo" and len(stub.parts) == 2:
        where, values = (lift(name, part, fetch, big_endian=big_endian) for part in stub.parts)
        return torch.sparse_coo_tensor(where, values, stub.shape)
    if stub.storage is None or stub.note or dtype is None:
        what = stub.note or stub.dtype
        raise VaultError(f"`{name}` is a {what} tensor, which cannot be read by itself", record=name)
    if not math.prod(stub.shape):
        return torch.empty(stub.shape, dtype=dtype)
    whole = math.prod(stub.shape)
    if whole > _MOST_REPEATED and whole > _MOST_TIMES * _span(stub):
        raise VaultError(
            f"`{name}` repeats few numbers {whole:,} times; it is made to fill the memory", record=name
        )
    flat = _flat(name, stub, fetch, dtype, big_endian)
    return flat.as_strided(stub.shape, stub.stride)


def elements(name: str, stub: TensorStub, fetch: Fetch, *, big_endian: bool = False) -> torch.Tensor | None:
    """Every stored element of the tensor at least once: for looking at the numbers, whatever its shape says.

    None when there are none to look at."""
    torch = needs_torch()
    if stub.parts:
        return elements(name, stub.parts[-1], fetch, big_endian=big_endian)  # a sparse tensor's values
    dtype = getattr(torch, stub.dtype, None)
    if stub.storage is None or stub.note or dtype is None or not math.prod(stub.shape):
        return None
    flat = _flat(name, stub, fetch, dtype, big_endian)
    # Strides that overlap can make trillions of elements out of a few; each is looked at once.
    return flat if math.prod(stub.shape) > _span(stub) else flat.as_strided(stub.shape, stub.stride)


def check_room(name: str, stub: TensorStub, storage_bytes: int) -> None:
    """Raises VaultError when the tensor does not lie inside its storage."""
    width = dtypes.BYTES.get(stub.dtype, 1)
    if math.prod(stub.shape) and (stub.offset + _span(stub)) * width > storage_bytes:
        raise VaultError(f"`{name}` reaches beyond the end of its storage", record=name)


def needs_torch() -> Any:
    """torch, or the sentence that says how to get it."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("Looking at the numbers of a checkpoint", "torch") from None
    return torch


def _flat(name: str, stub: TensorStub, fetch: Fetch, dtype: torch.dtype, big_endian: bool) -> torch.Tensor:
    import torch

    assert stub.storage is not None  # noqa: S101 - both callers looked
    width = dtypes.BYTES[stub.dtype]
    raw = fetch(stub.storage.key, stub.offset * width, _span(stub) * width)
    if big_endian and width > 1:
        parts = 2 if stub.dtype.startswith("complex") else 1
        raw = bytearray(
            torch.frombuffer(raw, dtype=torch.uint8).view(-1, width // parts).flip(1).numpy().tobytes()
        )
    return torch.frombuffer(raw, dtype=dtype)


def _span(stub: TensorStub) -> int:
    """From the first element of the tensor to its last, in the storage."""
    if not math.prod(stub.shape):
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(stub.shape, stub.stride, strict=True))
