"""The states of the random generators that a training step may draw from, noted at the end of every step.

Asking a Mersenne twister for its state makes hundreds of numbers; its words lie in memory one after the other, and
copying them takes a hundredth of that.
"""

from __future__ import annotations

import ctypes
import random
import sys
from typing import Any, NamedTuple

import torch
from torch import Tensor

_CUDA = torch.cuda
_CPU = torch.default_generator
_WORDS = 624
_BYTES = 4 * (_WORDS + 1)  # ... and the position among them


class Random(NamedTuple):
    torch: Tensor
    cuda: Tensor | None
    python: Python | None
    numpy: bytes | None  # the raw words of its Mersenne twister


class Python(NamedTuple):
    """The generator of the `random` module."""

    raw: bytes | None  # the position, then the words
    gauss: float | None
    asked: Any = None  # what it said itself, where its memory could not be read

    @property
    def state(self) -> tuple[Any, ...]:
        """As `random.setstate` takes it."""
        if self.raw is None:
            return tuple(self.asked)
        position, *words = memoryview(self.raw).cast("I")
        return (random.Random.VERSION, (*words, position), self.gauss)


class Twister:
    """The words of a Mersenne twister, where they lie. Copied again only when they have changed: every draw moves the
    position, and what begins anew has other words."""

    def __init__(self, address: int, *, position: int, words: int) -> None:
        self.address = address
        self._memory = (ctypes.c_uint32 * (_WORDS + 1)).from_address(address)
        self._position = position
        self._second = words + 1  # the first one is the same after every seeding
        self._seen: tuple[int, ...] = ()
        self._copy = b""

    def now(self) -> bytes:
        memory, second = self._memory, self._second
        seen = (memory[self._position], memory[second], memory[second + 1])
        if seen != self._seen:
            self._seen, self._copy = seen, ctypes.string_at(self.address, _BYTES)
        return self._copy


class Generators:
    def __init__(self) -> None:
        self._numpy = _numpy_twister()
        self._place = (-1, 0, 0)  # of the CUDA generator: device, seed, how many numbers it has drawn
        self._cuda: Tensor | None = None
        inside = id(random._inst) + object.__basicsize__
        self._python: Twister | None = Twister(inside, position=0, words=1)
        try:
            if self._now_python().state != random.getstate():
                self._python = None
        except Exception:  # noqa: BLE001 - not CPython as we know it
            self._python = None

    def meet(self) -> None:
        """numpy may have been imported since."""
        self._numpy = self._numpy or _numpy_twister()

    @property
    def cuda(self) -> bool:
        """Whether the run uses a GPU."""
        return _CUDA._initialized

    def now(self, python: bool = True) -> Random:
        numpy = self._numpy
        words = numpy.now() if numpy is not None else None
        cuda = self._now_cuda() if _CUDA._initialized else None
        asked = self._now_python() if python else None
        # As `Random(...)`, which is one more call of Python's at every step.
        return tuple.__new__(Random, (_CPU.get_state(), cuda, asked, words))

    def _now_cuda(self) -> Tensor:
        device = torch.cuda.current_device()
        generator = torch.cuda.default_generators[device]
        place = (device, generator.initial_seed(), generator.get_offset())
        if place != self._place or self._cuda is None:  # most steps draw nothing there
            self._place, self._cuda = place, generator.get_state()
        return self._cuda

    def _now_python(self) -> Python:
        if self._python is None:
            return Python(None, None, random.getstate())
        gauss: float | None = random._inst.gauss_next  # type: ignore[attr-defined]
        return tuple.__new__(Python, (self._python.now(), gauss, None))


def _numpy_twister() -> Twister | None:
    """numpy's global generator."""
    module = sys.modules.get("numpy.random")
    if module is None or not hasattr(module, "get_bit_generator"):
        return None
    bits = module.get_bit_generator()
    if type(bits).__name__ != "MT19937":  # somebody replaced it: its words are not laid out like that
        return None
    return Twister(bits.ctypes.state_address, position=_WORDS, words=0)
