"""What the script's loop does, seen from the outermost layer: batches, forwards, backward passes, steps, saves.

These wrappers lie over those of the probes and stay when the probes are gone. They tell a `Play`, which decides.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Any, Protocol

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from premortem.amounts import length
from premortem.fit.speed.machine import synchronize
from premortem.points import OVER, Subscriptions, after_optimizer_steps, before_optimizer_steps
from premortem.scriptrun.early_stop import Pass


class Play(Protocol):
    """Gets each event, on the main thread of the script's own process."""

    def pass_began(self, loader: Any, one: Pass) -> None: ...

    def pass_ends(self, loader: Any, one: Pass) -> bool: ...

    def batch_instead(self, loader: Any, one: Pass) -> Any: ...

    def drawn(self, loader: Any, one: Pass, batch: Any) -> None: ...

    def calling(self, root: nn.Module, args: Any, kwargs: Any) -> Any: ...

    def called(self, root: nn.Module, note: Any) -> None: ...

    def backward_done(self, loss: Any) -> None: ...

    def between(self) -> None: ...

    def stepped(self, optimizer: Any) -> None: ...

    def stepping(self, optimizer: Any) -> None: ...

    def saved(self, target: Any, seconds: float) -> None: ...


NOTHING = object()  # no batch instead of the loader's own


class Clock:
    """Seconds that each part took since the last step."""

    def __init__(self) -> None:
        self.exact = False  # wait for the device where a part ends
        self.data = self.forward = self.backward = self.optimizer = 0.0
        self.began = time.perf_counter()

    def now(self) -> float:
        if self.exact:
            synchronize()
        return time.perf_counter()

    def step_ended(self) -> tuple[float, float, float, float, float]:
        now = self.now()
        parts = (now - self.began, self.data, self.forward, self.backward, self.optimizer)
        self.data = self.forward = self.backward = self.optimizer = 0.0
        self.began = now
        return parts


class Stage:
    def __init__(self, play: Play) -> None:
        self.play = play
        self.clock = Clock()
        self.passes: weakref.WeakKeyDictionary[Any, tuple[Any, Pass]] = weakref.WeakKeyDictionary()
        self.current: Pass | None = None  # the pass that a batch was last drawn from
        self.steps = 0
        self.open_backwards = 0  # since the last step
        self._depth = 0
        self._backwards = 0
        self._pid = os.getpid()
        self._thread = threading.get_ident()
        self._step_began = 0.0

    def install(self) -> None:
        points = Subscriptions()
        points.add(DataLoader, "__iter__", self._wrap_iter, order=OVER)
        points.add(_BaseDataLoaderIter, "__next__", self._wrap_next, order=OVER)
        points.add(nn.Module, "__call__", self._wrap_call, order=OVER)
        points.add(torch.autograd, "backward", self._wrap_backward, order=OVER)
        points.add(torch, "save", self._wrap_save, order=OVER)
        before_optimizer_steps(self._before_step)
        after_optimizer_steps(self._after_step)

    def here(self) -> bool:
        """Not in a loader's worker, and not in another thread."""
        return os.getpid() == self._pid and threading.get_ident() == self._thread

    # -- data -----------------------------------------------------------------------------

    def _wrap_iter(self, original: Any) -> Any:
        def __iter__(loader: Any) -> Any:  # noqa: N807
            iterator = original(loader)
            if self.here():
                one = Pass(length(loader), time.perf_counter(), self.steps)
                self.passes[iterator] = (loader, one)
                self.play.pass_began(loader, one)
            return iterator

        return __iter__

    def _wrap_next(self, original: Any) -> Any:
        def __next__(iterator: Any) -> Any:  # noqa: N807
            known = self.passes.get(iterator) if self.here() else None
            if known is None:
                return original(iterator)
            loader, one = known
            self.play.between()
            if self.play.pass_ends(loader, one):
                raise StopIteration
            batch = self.play.batch_instead(loader, one)
            if batch is not NOTHING:
                self.current = one
                return batch
            began = time.perf_counter()
            batch = original(iterator)
            self.clock.data += time.perf_counter() - began
            one.drawn += 1
            self.current = one
            self.play.drawn(loader, one, batch)
            return batch

        return __next__

    # -- the step -------------------------------------------------------------------------

    def _wrap_call(self, original: Any) -> Any:
        def __call__(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if torch.compiler.is_compiling() or self._depth or self._backwards or not self.here():
                return original(module, *args, **kwargs)
            if next(module.parameters(), None) is None:
                return original(module, *args, **kwargs)
            self.play.between()
            note = self.play.calling(module, args, kwargs)
            began = self.clock.now()
            self._depth = 1
            try:
                return original(module, *args, **kwargs)
            finally:
                self._depth = 0
                if torch.is_grad_enabled():
                    self.clock.forward += self.clock.now() - began
                self.play.called(module, note)

        return __call__

    def _wrap_backward(self, original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if self._backwards or not self.here():
                return original(tensors, *args, **kwargs)
            began = self.clock.now()
            self._backwards = 1
            try:
                result = original(tensors, *args, **kwargs)
            finally:
                self._backwards = 0
            self.clock.backward += self.clock.now() - began
            self.open_backwards += 1
            if self.current is not None:
                self.current.backwards += 1
            loss = tensors[0] if isinstance(tensors, (list, tuple)) else tensors
            self.play.backward_done(loss)
            return result

        return backward

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.here():
            self.play.stepping(optimizer)
            self._step_began = self.clock.now()

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.here():
            self.clock.optimizer += self.clock.now() - self._step_began
            self.steps += 1
            self.play.stepped(optimizer)
            self.open_backwards = 0

    # -- saves ----------------------------------------------------------------------------

    def _wrap_save(self, original: Any) -> Any:
        def save(thing: Any, f: Any = None, *args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            result = original(thing, f, *args, **kwargs)
            if self.here():
                self.play.saved(f, time.perf_counter() - began)
            return result

        return save
