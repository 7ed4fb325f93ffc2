"""Where trials part: a process waits at the first call of the script that builds an optimizer, calls a model, goes backward or
uses the GPU, and forks for each trial. What comes before, imports and data as a rule, is done once.

    the script   imports, reads its data, … │ SGD(model.parameters()) │ … steps
                                            ▼
    a process waits here, and a trial is a fork of it, with its change put on

A change that would have acted before comes too late there. Which do is seen: a layer that changes nothing lies wherever one of
them would put its own, and notes what the script calls. So a script that has `from torch.nn.functional import dropout` holds
what a change can still reach.

Asking whether there is a GPU starts a thread of the driver's, and a process with threads cannot be forked. So until it waits, a script
that has used the GPU in its first run is given the same answer again, and how many there are torch asks the driver's management
library, which starts none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import Optimizer

from premortem.changes import Change, RunDescription, of
from premortem.changes.reach import Reach
from premortem.changes.too_late import Noted, Place, note
from premortem.points import Subscriptions
from premortem.scriptrun.sandbox.kernel import thread_names, threads
from premortem.scriptrun.sandbox.namespace import USER
from premortem.scriptrun.script_process import Played
from premortem.scriptrun.waiting import flush, wait_for_orders
from premortem.why import sets
from premortem.why.order import Order

ORDERS = "orders"
_ASK_WITHOUT_THREAD = "PYTORCH_NVML_BASED_CUDA_CHECK"  # documented by torch for scripts that fork
_MOST_PRINTED = 1 << 18  # characters


def made(order: Order, ours: Callable[[], bool], points: Subscriptions | None = None) -> list[Change]:
    """The changes of an order, not yet put on."""
    known = {"device": "cpu", **order.run, "optimizers": tuple(order.run.get("optimizers", ()))}
    run = RunDescription(**known)
    return [of("learning")[name](Reach(ours=ours, points=points), run) for name in sets.parts(order.change)]


class ForkPlace:
    """`begin` is called in each fork with its order, before the script goes on."""

    def __init__(self, played: Played, order: Order, begin: Callable[[Order], None]) -> None:
        self._played, self._order, self._begin = played, order, begin
        self._points = Subscriptions()
        self._process = os.getpid()
        self._called: set[tuple[int, str]] = set()
        self._waited = False
        self._reached_by: dict[str, Noted] = {}
        self._asked_before = os.environ.get(_ASK_WITHOUT_THREAD)

    def install(self) -> None:
        os.environ[_ASK_WITHOUT_THREAD] = "1"
        if RunDescription(device=str(self._order.run.get("device", "cpu"))).on_gpu:
            self._points.add(torch.cuda, "is_available", lambda _call: lambda: True)
        for name in self._order.waits:
            order = Order(change=name, run=self._order.run)
            self._reached_by[name] = note(partial(made, order, lambda: False))
        places = {(id(owner), name): (owner, name) for owner, name in self._wanted()}
        ends = {(id(owner), name) for owner, name in _ends()}
        for key, (owner, name) in places.items():
            self._points.add(owner, name, partial(self._around, owner, name, key in ends))

    def _wanted(self) -> Iterable[Place]:
        yield from _ends()
        for noted in self._reached_by.values():
            yield from noted.places

    def _around(self, owner: Any, name: str, ends: bool, call: Any) -> Any:
        key = (id(owner), name)

        def held(*args: Any, **kwargs: Any) -> Any:
            if self._waited or os.getpid() != self._process:
                return call(*args, **kwargs)
            if ends and _begins_to_train(owner, name, args):
                self._wait(owner)
                return getattr(owner, name)(*args, **kwargs)  # with the layers of the change
            if not ends:
                self._called.add(key)
            return call(*args, **kwargs)

        return held

    def _wait(self, building: Any) -> None:
        """Returns in a fork, where its order is begun."""
        if why := self._unfit():
            self._played.tell(cannot_wait=why)
            self._played.leave()
        late = [
            name for name, noted in self._reached_by.items() if noted.comes_too_late(self._called, building)
        ]
        orders = self._played.shared / f"{ORDERS}-{self._order.seed}"
        orders.mkdir()
        flush()
        self._played.tell(waiting=orders.name, too_late=late, printed=_printed())
        order = wait_for_orders(
            self._played,
            orders,
            lambda number, code: self._played.tell(over=number, code=code) if number > 0 else None,
            apart=True,
        )
        self._waited = True
        if self._asked_before is None:
            del os.environ[_ASK_WITHOUT_THREAD]
        else:
            os.environ[_ASK_WITHOUT_THREAD] = self._asked_before
        order.pop("number")
        self._begin(Order.from_json(order))
        self._points.end()

    def _unfit(self) -> str:
        """Why no fork could go on from here."""
        if threads() > 1:
            return f"the script has started threads ({', '.join(thread_names())})"
        if torch.cuda.is_initialized():
            return "the script has used the GPU"
        if self._played.sandbox.level > USER:
            return "this machine's sandbox cannot be entered twice"
        return ""


def _ends() -> list[Place]:
    """Where the process waits: none of these is called before there is something to train."""
    optimizers = [cls for cls in vars(torch.optim).values() if isinstance(cls, type)]
    built = {
        cls for cls in (Optimizer, *optimizers) if issubclass(cls, Optimizer) and "__init__" in vars(cls)
    }
    return [
        *((cls, "__init__") for cls in built),
        (nn.Module, "__call__"),
        (torch.Tensor, "backward"),
        (torch.autograd, "backward"),
        (torch.cuda, "_lazy_init"),
    ]


def _printed() -> str:
    """By the script, so far. Its file cannot be seen from here but by what is open."""
    with suppress(OSError):
        return Path("/proc/self/fd/1").read_text(encoding="utf-8", errors="replace")[-_MOST_PRINTED:]
    return ""


def _begins_to_train(owner: Any, name: str, args: tuple[Any, ...]) -> bool:
    """A module without parameters may prepare the data."""
    if owner is not nn.Module:
        return True
    return next(args[0].parameters(), None) is not None
