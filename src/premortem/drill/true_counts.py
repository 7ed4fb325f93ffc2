"""What a run has really done, seen from below everything else: counts, times, fingerprints of its state.

It knows nothing of mutants or findings. Two runs with the same fingerprints were the same training.
"""

from __future__ import annotations

import statistics
import time
import weakref
import zlib
from array import array
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import Optimizer

from premortem.drill.order import Order
from premortem.points import Subscriptions, after_optimizer_steps

_ELEMENTS = 2048  # of each tensor
_EVERY = 10  # steps; and at powers of two
_WARM = 10  # steps that are not timed: premortem looks closely at the first ones


class Enough(SystemExit):
    """The run has come as far as it should."""


class TrueCounts:
    def __init__(self, order: Order) -> None:
        self.order = order
        self.steps = 0
        self.backwards = 0
        self.saves = 0
        self.cut = False
        self.began: float | None = None  # the first backward pass
        self.prints: dict[str, int] = {}
        # Around the witness's own use of torch, once premortem is watching too.
        self.apart: Callable[[], AbstractContextManager[Any]] = nullcontext
        self._durations: list[float] = []
        self._last: float | None = None
        self._optimizer: Optimizer | None = None  # the last one that made a step
        self._with_buffers: list[weakref.ref[nn.Module]] = []

    def install(self) -> None:
        after_optimizer_steps(self._stepped)
        points = Subscriptions()
        points.add(torch.autograd, "backward", self._around_backward)
        points.add(torch, "save", self._around_save)
        points.add(nn.Module, "register_buffer", self._around_buffer)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began if self.began is not None else 0.0

    @property
    def step_seconds(self) -> float | None:
        timed = self._durations[_WARM:] or self._durations
        return statistics.median(timed) if timed else None

    def _around_backward(self, original: Any) -> Any:
        def backward(*args: Any, **kwargs: Any) -> Any:
            if self.began is None:
                self.began = time.perf_counter()
            if self._far_enough():
                self.cut = True
                raise Enough(0)
            self.backwards += 1
            return original(*args, **kwargs)

        return backward

    def _far_enough(self) -> bool:
        if self.order.backwards:
            return self.backwards >= self.order.backwards
        return (
            bool(self.order.steps) and self.steps >= self.order.steps and self.seconds >= self.order.at_least
        )

    def _around_save(self, original: Any) -> Any:
        def save(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self.saves += 1
            return result

        return save

    def _around_buffer(self, original: Any) -> Any:
        def register_buffer(module: nn.Module, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            self._with_buffers.append(weakref.ref(module))

        return register_buffer

    def _stepped(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        now = time.perf_counter()
        if self._last is not None:
            self._durations.append(now - self._last)
        self.steps += 1
        self._optimizer = optimizer
        if self.steps % _EVERY == 0 or self.steps & (self.steps - 1) == 0:
            self.look(str(self.backwards))
        self._last = time.perf_counter()

    def look(self, moment: str) -> None:
        """Note the state of all that is trained."""
        with self.apart():
            self.prints[moment] = fingerprint(self._tensors())

    def _tensors(self) -> Iterable[torch.Tensor]:
        for group in self._optimizer.param_groups if self._optimizer is not None else ():
            yield from group["params"]
        for reference in self._with_buffers:
            module = reference()
            if module is not None:
                yield from module.buffers(recurse=False)


def fingerprint(tensors: Iterable[torch.Tensor]) -> int:
    value = 0
    for tensor in tensors:
        if tensor.layout != torch.strided or tensor.device.type == "meta":
            continue
        flat = tensor.detach().reshape(-1)
        flat = flat[:: max(1, flat.numel() // _ELEMENTS)]
        numbers = torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat
        value = zlib.crc32(array("d", numbers.to("cpu", torch.float64).tolist()).tobytes(), value)
    return value
