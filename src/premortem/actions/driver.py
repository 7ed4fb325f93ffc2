"""What the driver of a CUDA device offers and torch does not: memory that is not there until it is written, and one stream.

Managed memory has an address and no pages; the first kernel that writes it is given them, on the host. A copy that is
made only when a step is refused so takes no memory at all from a run in which none is. Streams of torch's come by the pool:
the first one makes 32 of them, at 2 MB of the device's memory each. Where there is no such driver, callers do without.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from typing import Any

import torch

_FOR_ALL_STREAMS = 1  # CU_MEM_ATTACH_GLOBAL
_WRITTEN_BY_BOTH = 89  # CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
_LIES_AT, _MAPPED_FOR = 3, 5  # CU_MEM_ADVISE_SET_PREFERRED_LOCATION, ..._SET_ACCESSED_BY
_HOST = -1  # CU_DEVICE_CPU
_WAITS_FOR_NO_OTHER = 1  # CU_STREAM_NON_BLOCKING
_ALIGNED = 512  # bytes, as torch's own allocator does it


@functools.cache
def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1") if torch.version.cuda else None
    except OSError:
        return None


class _Block:
    """Managed memory, as torch takes what is not its own. It is given back when the last tensor in it is gone."""

    def __init__(self, driver: Any, size: int, device: int) -> None:
        address = ctypes.c_uint64()
        if driver.cuMemAllocManaged(ctypes.byref(address), ctypes.c_size_t(size), _FOR_ALL_STREAMS):
            raise MemoryError
        weakref.finalize(self, driver.cuMemFree_v2, address).atexit = False
        for advice, where in ((_LIES_AT, _HOST), (_MAPPED_FOR, device)):
            driver.cuMemAdvise(address, ctypes.c_size_t(size), advice, where)
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address.value, False),
            "version": 2,
        }


def written_only(like: list[torch.Tensor]) -> list[torch.Tensor] | None:
    """A tensor like each of these, in memory that is there once it is written."""
    device, driver = like[0].device, _driver() if like[0].is_cuda else None
    if driver is None or device.index is None:
        return None
    able = ctypes.c_int()
    if driver.cuDeviceGetAttribute(ctypes.byref(able), _WRITTEN_BY_BOTH, device.index) or not able.value:
        return None
    forms = [torch.empty_like(t, device="meta") for t in like]
    sizes = [form.numel() * form.element_size() for form in forms]
    places = [-(-size // _ALIGNED) * _ALIGNED for size in sizes]
    try:
        with torch.cuda.device(device):
            space = torch.as_tensor(_Block(driver, sum(places) or _ALIGNED, device.index), device=device)
    except (MemoryError, RuntimeError):
        return None
    found = []
    for form, place, size in zip(forms, space.split(places), sizes, strict=True):
        found.append(place[:size].view(form.dtype).as_strided(form.shape, form.stride()))
    return found


@functools.cache
def stream_of(device: torch.device) -> torch.cuda.Stream:
    """A stream for captures of ours."""
    driver, made = _driver(), ctypes.c_void_p()
    with torch.cuda.device(device):
        if driver is None or driver.cuStreamCreate(ctypes.byref(made), _WAITS_FOR_NO_OTHER):
            return torch.cuda.Stream(device)
        return torch.cuda.ExternalStream(made.value, device)
