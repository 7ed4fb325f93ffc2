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


class Generators:
    def __init__(self) -> None:
        self._numpy = _numpy_address()
        self._python: int | None = id(random._inst) + object.__basicsize__
        try:
            if self._now_python().state != random.getstate():
                self._python = None
        except Exception:  # noqa: BLE001 - not CPython as we know it
            self._python = None

    def meet(self) -> None:
        """numpy may have been imported since."""
        self._numpy = self._numpy or _numpy_address()

    def now(self, *, python: bool = True) -> Random:
        words = ctypes.string_at(self._numpy, _BYTES) if self._numpy is not None else None
        cuda = _cuda_state() if torch.cuda.is_initialized() else None
        return Random(
            torch.default_generator.get_state(), cuda, self._now_python() if python else None, words
        )

    def _now_python(self) -> Python:
        if self._python is None:
            return Python(None, None, random.getstate())
        gauss: float | None = random._inst.gauss_next  # type: ignore[attr-defined]
        return Python(ctypes.string_at(self._python, _BYTES), gauss)


def _cuda_state() -> Tensor | None:
    if torch.cuda.is_current_stream_capturing():
        return None
    state: Tensor = torch.cuda.default_generators[torch.cuda.current_device()].get_state()
    return state


def _numpy_address() -> int | None:
    """Where numpy's global generator keeps its words."""
    module = sys.modules.get("numpy.random")
    if module is None or not hasattr(module, "get_bit_generator"):
        return None
    bits = module.get_bit_generator()
    if type(bits).__name__ != "MT19937":  # somebody replaced it: its words are not laid out like that
        return None
    address: int = bits.ctypes.state_address
    return address
