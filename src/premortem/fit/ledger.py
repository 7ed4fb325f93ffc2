"""Who owns each byte on the card: a diary of storages, from birth to death."""

import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

PARAMETERS, GRADIENTS, STATE = "parameters", "gradients", "optimizer state"
ACTIVATIONS, TEMPORARIES, WORKSPACES = "activations", "temporaries", "workspaces"
INPUTS, BUFFERS = "inputs", "buffers"

_TORCH = str(Path(torch.__file__).parent)
_OURS = str(Path(__file__).parent)
_STDLIB = str(Path(weakref.__file__).parent)
_PACKAGES = str(Path(_TORCH).parent)


@dataclass(slots=True)
class Allocation:
    bytes: int
    kind: str
    op: str
    module: str
    file: str
    line: int
    phase: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    needed: bool = True  # whether the card must have room for it


class Ledger:
    """`diary` has one entry for each birth (the number of an allocation) and each death (its complement)."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.diary: list[int] = []
        self.marks: list[tuple[int, str]] = []  # where in the diary a step ended
        self.modules: list[str] = []
        self.stepping = 0
        self.moving = False  # a copy from the host is under way
        self._living: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._origins: dict[int, tuple[str, str, int]] = {}  # autograd's sequence number -> where it was made
        self._foreign: dict[CodeType, bool] = {}

    # -- births and deaths ----------------------------------------------------------------

    def holds(self, tensor: Tensor) -> bool:
        if tensor.layout is not torch.strided:
            return getattr(tensor, "_premortem_on_card", False)
        return _key(tensor) in self._living

    def born(self, tensor: Tensor, op: str) -> None:
        """A tensor is on the card; its storage is entered unless it is known."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._living:
            return
        number = len(self.allocations)
        module, file, line, phase = self._whence()
        self.allocations.append(
            Allocation(
                bytes=storage.size(),
                kind=self._kind(phase),
                op=op,
                module=module,
                file=file,
                line=line,
                phase=phase,
                shape=tuple(tensor.shape),
                dtype=str(tensor.dtype).removeprefix("torch."),
            )
        )
        self.diary.append(number)
        self._watch(storage, number)

    def replaced(self, old: Tensor, new: Tensor) -> None:
        """What was entered for one tensor is the other's."""
        number, _ = self._living.pop(_key(old))
        self._watch(new.untyped_storage(), number)

    def copied(self, tensor: Tensor, op: str) -> None:
        """A copy takes the place of a tensor, which ends."""
        number, _ = self._living.pop(_key(tensor))
        self.born(tensor, op)
        self.diary.append(~number)

    def _watch(self, storage: Any, number: int) -> None:
        key = storage._cdata

        def died(_: object) -> None:
            if self._living.pop(key, None) is not None:
                self.diary.append(~number)

        self._living[key] = (number, weakref.ref(storage, died))

    def borrowed(self, size: int, op: str, *, needed: bool = True) -> None:
        """Memory that a kernel takes and gives back before it is done."""
        self.left(self.entered(size, op, needed=needed))

    def entered(self, size: int, op: str, *, needed: bool = True) -> int:
        """Memory that no tensor shows, kept until `left`."""
        module, file, line, phase = self._whence()
        self.allocations.append(Allocation(size, WORKSPACES, op, module, file, line, phase, needed=needed))
        self.diary.append(len(self.allocations) - 1)
        return len(self.allocations) - 1

    def left(self, number: int) -> None:
        self.diary.append(~number)

    def call(self, tensor: Any, kind: str) -> None:
        """What a tensor turned out to be."""
        if isinstance(tensor, FakeTensor) and tensor.layout is torch.strided:
            known = self._living.get(_key(tensor))
            if known is not None:
                self.allocations[known[0]].kind = kind

    def mark(self, what: str) -> None:
        self.marks.append((len(self.diary), what))

    # -- where ----------------------------------------------------------------------------

    def forward_op(self) -> None:
        """Remember where the graph's next nodes come from, for their backward."""
        if not torch.is_grad_enabled():
            return
        number = torch.autograd._get_sequence_nr() - 1  # type: ignore[attr-defined]
        if number not in self._origins:
            file, line = self._line()
            self._origins[number] = (self.modules[-1] if self.modules else "", file, line)

    def _whence(self) -> tuple[str, str, int, str]:
        node: Any = torch._C._current_autograd_node()
        inside = self.modules[-1] if self.modules else ""
        if node is not None and not inside:
            origin = self._origins.get(node._sequence_nr())
            if origin is not None:
                return (*origin, "backward")
            return ("", *self._line(), "backward")
        phase = "backward" if node is not None else "optimizer" if self.stepping else "forward"
        return (inside, *self._line(), phase)

    def _kind(self, phase: str) -> str:
        if self.moving:
            return INPUTS
        # What runs inside a module during the backward pass is a checkpoint's second forward pass.
        again = phase == "backward" and bool(self.modules)
        return ACTIVATIONS if phase == "forward" or again else TEMPORARIES

    def _line(self) -> tuple[str, int]:
        """The innermost line that is neither torch's nor premortem's."""
        for code, line in _frames():
            foreign = self._foreign.get(code)
            if foreign is None:
                foreign = self._foreign[code] = _is_users(code.co_filename)
            if foreign:
                return code.co_filename, line
        return "", 0


def _frames() -> Iterator[tuple[CodeType, int]]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame.f_code, frame.f_lineno
        frame = frame.f_back


def _is_users(file: str) -> bool:
    if file.startswith((_TORCH, _OURS, "<")):
        return False
    return file.startswith(_PACKAGES) or not file.startswith(_STDLIB)


def _key(tensor: Tensor) -> int:
    wrapped = torch._C._functorch
    while wrapped.is_functorch_wrapped_tensor(tensor):  # inside torch.func's transforms
        tensor = wrapped.get_unwrapped(tensor)
    return int(tensor.untyped_storage()._cdata)
