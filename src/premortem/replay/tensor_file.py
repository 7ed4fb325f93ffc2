"""A file of tensors in the format of safetensors, written so that a run that goes on beside it does not feel it.

The library's own writer holds Python's lock while it copies and writes all of it. Here it is written block by block, without the
lock, and the checksum is taken on the way, so that nothing is read again. A block is small enough that torch uses no second core for it:
another thread's team of workers beside the training's would slow both down by much more than their work.
"""

import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import torch

from premortem.files import private
from premortem.vault.dtypes import SAFETENSORS

_ELEMENTS = 1 << 15  # torch's own limit for what one core does alone
_BLOCK = 1 << 20  # bytes
_NICE = 10
_NEWER = ("F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ")  # which the library cannot read in all of its versions
_TYPES = {
    getattr(torch, dtype): name
    for name, dtype in SAFETENSORS.items()
    if hasattr(torch, dtype) and name not in _NEWER
}


def step_back() -> None:
    """Let other threads go first, where the system knows of single ones."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def write(tensors: dict[str, torch.Tensor], path: Path) -> str:
    """Tensors on the CPU, each with its own memory. Returns the checksum of the file."""
    header: dict[str, object] = {}
    offset = 0
    # The widest numbers first: each begins at a multiple of its own width.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))
    for name, tensor in ordered:
        if tensor.dtype not in _TYPES:
            raise ValueError(f"`{name}` holds numbers of a type that the file cannot hold ({tensor.dtype})")
        end = offset + tensor.nbytes
        header[name] = {
            "dtype": _TYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    total = hashlib.sha256()
    with private.opened(path, "wb", buffering=0) as file:
        start = len(text).to_bytes(8, "little") + text
        put(file.fileno(), memoryview(start))
        total.update(start)
        for _, tensor in ordered:
            for block in blocks(tensor):
                put(file.fileno(), block)
                total.update(block)
    return total.hexdigest()


def put(file: int, block: memoryview) -> None:
    """All of it: one call may write a part."""
    while block:
        block = block[os.write(file, block) :]


def blocks(tensor: torch.Tensor) -> Iterator[memoryview]:
    """The memory of a tensor, piece by piece."""
    if tensor.numel():
        memory = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().data
        for start in range(0, len(memory), _BLOCK):
            yield memory[start : start + _BLOCK]


def pieces(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The same, as tensors that torch works on with one core."""
    yield from tensor.reshape(-1).split(_ELEMENTS) if tensor.numel() else ()
