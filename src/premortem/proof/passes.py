"""Passes over the data that end early, so that a script which saves after an epoch need not run a whole one."""

import time
import weakref
from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from premortem.points import OVER, Subscriptions
from premortem.scriptrun.early_stop import Cutter, Pass


class Passes:
    def __init__(self, steps: int, may: Callable[[], bool]) -> None:
        self.cutter = Cutter(steps, budget=0.0)
        self.steps = 0
        self.open_backwards = 0
        self._may = may
        self._passes: weakref.WeakKeyDictionary[Any, Pass] = weakref.WeakKeyDictionary()
        self._current: Pass | None = None

    def install(self) -> None:
        points = Subscriptions()
        points.add(DataLoader, "__iter__", self._beginning, order=OVER)
        points.add(_BaseDataLoaderIter, "__next__", self._drawing, order=OVER)

    def _beginning(self, begin: Any) -> Any:
        def __iter__(loader: Any) -> Any:  # noqa: N807
            iterator = begin(loader)
            self._passes[iterator] = Pass(None, time.perf_counter(), self.steps)
            return iterator

        return __iter__

    def _drawing(self, draw: Any) -> Any:
        def __next__(iterator: Any) -> Any:  # noqa: N807
            one = self._passes.get(iterator)
            now = time.perf_counter()
            if one and self._may() and self.cutter.ends(one, self.steps, self.open_backwards, now):
                raise StopIteration
            batch = draw(iterator)
            if one is not None:
                one.drawn += 1
                self._current = one
            return batch

        return __next__

    def called(self, *, grad: bool) -> None:
        if not grad and self._current is not None:
            self._current.judged += 1

    def backward(self) -> None:
        self.open_backwards += 1
        if self._current is not None:
            self._current.backwards += 1

    def stepped(self) -> None:
        self.open_backwards = 0
        self.steps += 1
