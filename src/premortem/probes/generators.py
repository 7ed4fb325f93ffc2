"""The states of the random generators that a training step may draw from, noted at the end of every step.

Asking a Mersenne twister for its state makes hundreds of numbers; its words lie in memory one after the other, and
copying them takes a hundredth of that.
"""

from __future__ import annotations

import ctypes
import functools
import random
import sys
from operator import itemgetter
from typing import Any, NamedTuple

import torch
from torch import Tensor

_CUDA = torch.cuda
_CPU = torch.default_generator
_INSTANCE: Any = random._inst
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
    asked: Any = None  # the state that it returned, where its memory could not be read

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
        memory = (ctypes.c_uint32 * (_WORDS + 1)).from_address(address)
        # The position, and two words; the first one is the same after every seeding. No call of Python's.
        self.marks = functools.partial(itemgetter(position, words + 1, words + 2), memory)
        self.seen: tuple[int, ...] = ()
        self.copy = b""

    def now(self) -> bytes:
        seen = self.marks()
        if seen != self.seen:
            self.seen, self.copy = seen, ctypes.string_at(self.address, _BYTES)
        return self.copy


class Generators:
    def __init__(self) -> None:
        self._numpy = _numpy_twister()
        self._place = (-1, 0, 0)  # of the CUDA generator: device, seed, how many numbers it has drawn
        self._cuda: Tensor | None = None
        self._asked: Python | None = None  # the last one, while nothing has moved
        inside = id(_INSTANCE) + object.__basicsize__
        self._python: Twister | None = Twister(inside, position=0, words=1)
        try:
            if self._now_python().state != random.getstate():
                self._python = None
        except Exception:  # noqa: BLE001 - not CPython as we know it
            self._python = None

    def meet(self) -> None:
        """numpy may have been imported since."""
        self._numpy = self._numpy or _numpy_twister()

    def now(self, python: bool = True) -> Random:
        """At every step, so that most of it stands here: a call of Python's would be felt."""
        numpy, mine, words, asked = self._numpy, self._python, None, None
        if numpy is not None:
            words = numpy.copy if numpy.marks() == numpy.seen else numpy.now()
        cuda = self._now_cuda() if _CUDA._initialized else None
        if python:
            if mine is not None and mine.marks() == mine.seen and _INSTANCE.gauss_next is None:
                asked = self._asked
                if asked is None or asked.raw is not mine.copy:
                    asked = self._asked = Python(mine.copy, None)
            else:
                asked = self._now_python()
        return tuple.__new__(Random, (_CPU.get_state(), cuda, asked, words))

    def _now_cuda(self) -> Tensor:
        device = (
            torch._C._cuda_getDevice()
        )  # as `current_device`, which first asks in three calls whether CUDA is there
        generator = torch.cuda.default_generators[device]
        place = (device, generator.initial_seed(), generator.get_offset())
        if place != self._place or self._cuda is None:  # most steps draw nothing there
            self._place, self._cuda = place, generator.get_state()
        return self._cuda

    def _now_python(self) -> Python:
        if self._python is None:
            return Python(None, None, random.getstate())
        gauss: float | None = _INSTANCE.gauss_next
        return tuple.__new__(Python, (self._python.now(), gauss, None))


def _numpy_twister() -> Twister | None:
    """numpy's global generator."""
    module = sys.modules.get("numpy.random")
    if module is None or not hasattr(module, "get_bit_generator"):
        return None
    bits = module.get_bit_generator()
    if type(bits).__name__ != "MT19937":  # the script replaced it: its words are not laid out like that
        return None
    return Twister(bits.ctypes.state_address, position=_WORDS, words=0)
