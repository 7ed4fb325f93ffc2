"""A snapshot: the tensors of a checkpoint, copied into host memory while training waits.

This copy is all that an asynchronous save costs. The host memory is laid out exactly as the files will be, is kept
for the next save (fresh memory costs more than the copy itself), and is pinned where there is a GPU: then the copies
are queued behind the work already given to the device, and training goes on without waiting for them.
"""

from __future__ import annotations

import _thread
import ctypes
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from premortem.vault.dtypes import SAFETENSORS

if TYPE_CHECKING:
    import torch

_ALIGNED = 64  # bytes; where each file begins in the memory
_TURN = 16 << 20  # bytes copied at a time
# What safetensors calls a dtype, in all of its versions. Others are stored as bytes, and the manifest knows better.
_NEWER = ("F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64")
_CALLED = {dtype: name for name, dtype in SAFETENSORS.items() if name not in _NEWER}


@dataclass(slots=True)
class Slot:
    """Where a tensor lies in its file's part of the memory."""

    key: str
    dtype: str
    shape: list[int]
    begin: int
    end: int

    @property
    def raw(self) -> bool:
        return self.dtype not in _CALLED

    def header(self) -> dict[str, Any]:
        shape = [self.end - self.begin] if self.raw else self.shape
        return {
            "dtype": _CALLED.get(self.dtype, "U8"),
            "shape": shape,
            "data_offsets": [self.begin, self.end],
        }


@dataclass
class Part:
    """One file: its slots in order, the names that share a slot (tied weights), and its bytes."""

    slots: list[Slot]
    names: dict[str, Slot]  # every name, tied ones too
    memory: torch.Tensor

    def view(self) -> memoryview:
        """The bytes as Python sees them, without a copy and without numpy."""
        size = self.memory.numel()
        if not size:
            return memoryview(b"")
        return memoryview((ctypes.c_char * size).from_address(self.memory.data_ptr())).cast("B")

    def tensor(self, name: str) -> torch.Tensor:
        """A tensor of the snapshot, as it will be read from the file."""
        slot = self.names[name]
        return _shaped(self.memory, slot)


class Snapshot:
    """The parts of one checkpoint. `ready` waits until the device has delivered them."""

    def __init__(self, parts: dict[str, Part], events: list[Any]) -> None:
        self.parts = parts
        self._events = events  # one for each device that copies

    def ready(self) -> None:
        for event in self._events:
            event.synchronize()


class Camera:
    """Takes snapshots, one at a time, into memory that it keeps."""

    def __init__(self) -> None:
        self._memory: torch.Tensor | None = None

    def take(self, pieces: Mapping[str, Mapping[str, torch.Tensor]]) -> Snapshot:
        """Copy every tensor. The last snapshot taken is overwritten: its files must be written."""
        import torch

        plans, total = {}, 0
        devices = {each.device for tensors in pieces.values() for each in tensors.values() if each.is_cuda}
        on_gpu = bool(devices)
        for piece, tensors in pieces.items():
            slots, names, size = _plan(tensors)
            plans[piece] = (slots, names, total, size)
            total += -(-size // _ALIGNED) * _ALIGNED
        memory = self._room(total, pinned=on_gpu)
        parts = {}
        with torch.no_grad():
            for piece, (slots, names, begin, size) in plans.items():
                part = Part(slots, names, memory[begin : begin + size])
                _copy(part, pieces[piece], non_blocking=on_gpu)
                parts[piece] = part
        return Snapshot(parts, [torch.cuda.current_stream(device).record_event() for device in devices])

    def _room(self, size: int, *, pinned: bool) -> torch.Tensor:
        import torch

        held = self._memory
        if held is None or held.numel() < size or held.numel() > 2 * size + (1 << 20):
            self._memory = held = None  # before the new one is asked for, so that both are never held
            try:
                self._memory = torch.empty(max(size, _ALIGNED), dtype=torch.uint8, pin_memory=pinned)
            except RuntimeError:  # pinned memory is limited; without it the copy only takes longer
                self._memory = torch.empty(max(size, _ALIGNED), dtype=torch.uint8)
            held = self._memory
        return held


def _plan(tensors: Mapping[str, torch.Tensor]) -> tuple[list[Slot], dict[str, Slot], int]:
    """Wide elements first, so that each tensor is aligned without holes."""
    slots: list[Slot] = []
    names: dict[str, Slot] = {}
    seen: dict[Any, Slot] = {}
    called: dict[Any, str] = {}
    position = 0
    # Training waits for this loop, and there may be thousands of tensors.
    for width, name, tensor in sorted(
        ((each.element_size(), name, each) for name, each in tensors.items()), key=lambda item: -item[0]
    ):
        size = tensor.numel() * width
        dtype, shape = tensor.dtype, tensor.shape
        same = (tensor.data_ptr(), dtype, shape, tensor.stride()) if size else name
        tied = seen.get(same)
        if tied is not None:
            names[name] = tied
            continue
        if dtype not in called:
            called[dtype] = str(dtype).removeprefix("torch.")
        slot = Slot(name, called[dtype], list(shape), position, position + size)
        position += size
        slots.append(slot)
        names[name] = seen[same] = slot
    return slots, names, position


def _copy(part: Part, tensors: Mapping[str, torch.Tensor], *, non_blocking: bool) -> None:
    import torch

    own = {torch.Tensor, torch.nn.Parameter}  # a subclass may only pretend to have memory
    base = part.memory.data_ptr()
    blocks: list[tuple[int, int, int]] = []  # to, from, how many bytes
    for slot in part.slots:
        if slot.begin == slot.end:
            continue
        tensor = tensors[slot.key]
        if (
            tensor.is_cpu
            and type(tensor) in own
            and tensor.is_contiguous()
            and not (tensor.is_conj() or tensor.is_neg())
        ):
            blocks.append((base + slot.begin, tensor.data_ptr(), slot.end - slot.begin))
        else:
            source = tensor.detach()
            _shaped(part.memory, slot).copy_(source, non_blocking=non_blocking and source.is_cuda)
    _move(blocks)


def _move(blocks: Iterable[tuple[int, int, int]]) -> None:
    """Copy in small turns, on this thread and on a helper that takes turns if it gets a core.

    torch would wait for all its threads after every tensor; where others want the cores too, that takes longer than
    the copy itself. Here nothing is waited for but a turn that has begun."""
    turns = deque(
        (to + begin, source + begin, min(_TURN, size - begin))
        for to, source, size in blocks
        for begin in range(0, size, _TURN)
    )
    taking = threading.Lock()

    def help_along() -> None:
        while turns:
            with taking, suppress(IndexError):
                ctypes.memmove(*turns.pop())

    if len(turns) > 1:
        _thread.start_new_thread(help_along, ())  # Thread.start would wait until it runs
    with suppress(IndexError):
        while turns:
            ctypes.memmove(*turns.popleft())
    with taking:  # a turn that the helper has begun
        pass


def _shaped(memory: torch.Tensor, slot: Slot) -> torch.Tensor:
    import torch

    if slot.begin == slot.end:
        return torch.empty(slot.shape, dtype=getattr(torch, slot.dtype))
    return memory[slot.begin : slot.end].view(getattr(torch, slot.dtype)).view(slot.shape)
