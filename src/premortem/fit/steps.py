"""When enough of a script was seen: each of its optimizers made its steps.

Asked by the rehearsal, and by the real run that is measured beside it.
"""

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from premortem.points import Subscriptions

_BACKWARDS = (
    3  # passes for each step, of a script without an optimizer of torch's: it updates its weights by hand
)
_MOST_STEPS = 24  # of one optimizer, while another was not stepped yet


class Steps:
    def __init__(self, wanted: int, seen: Callable[[], None]) -> None:
        self.wanted, self._seen = wanted, seen
        self.complete = False
        self._known: dict[int, tuple[weakref.ref[Optimizer], str]] = {}
        self._made: dict[int, int] = {}
        self._backwards = 0

    def install(self, points: Subscriptions, sent_backward: Callable[[Any], None] | None = None) -> None:
        """Meet each optimizer when it is made, and hear of each backward pass."""
        points.replace(Optimizer, "__init__", self._constructor(Optimizer.__init__))
        for name in ("backward", "grad"):
            points.replace(torch.autograd, name, self._backward(getattr(torch.autograd, name), sent_backward))

    def meet(self, optimizer: Optimizer) -> None:
        if id(optimizer) not in self._known:
            self._known[id(optimizer)] = (weakref.ref(optimizer), type(optimizer).__name__)
            self._made[id(optimizer)] = 0

    def count(self, optimizer: Optimizer) -> str:
        """One more step of it, in words."""
        self.meet(optimizer)
        self._made[id(optimizer)] += 1
        return f"{self._known[id(optimizer)][1]} step {self._made[id(optimizer)]}"

    def check(self) -> None:
        """Calls `seen` when it is enough."""
        living = [key for key, (known, _) in self._known.items() if known() is not None]
        if all(self._made[key] >= self.wanted for key in living) or max(self._made.values()) >= _MOST_STEPS:
            self._end()

    def names(self) -> list[str]:
        return sorted({name for _, name in self._known.values()})

    def made(self) -> dict[str, int]:
        names = [name for _, name in self._known.values()]
        return {f"{name} {n}" if names.count(name) > 1 else name: self._made[key]
                for n, (key, (_, name)) in enumerate(self._known.items(), start=1)}  # fmt: skip

    def _end(self) -> None:
        self.complete = True
        self._seen()

    def _constructor(self, init: Any) -> Any:
        def constructed(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            init(optimizer, *args, **kwargs)
            self.meet(optimizer)

        return constructed

    def _backward(self, original: Any, sent: Callable[[Any], None] | None) -> Any:
        def differentiated(*args: Any, **kwargs: Any) -> Any:
            if sent is not None:
                sent((args, kwargs))
            if not self._known:
                self._backwards += 1
                if self._backwards > self.wanted * _BACKWARDS:
                    self._end()
            return original(*args, **kwargs)

        return differentiated
