"""How a change reaches into a script: the calls that scripts make, each of them in one way, and all of it undone at once.

What a change makes the script do lies *over* premortem's probes, so that they hear the changed call, or none.
Premortem's own use of torch goes past the change.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.optim import lr_scheduler
from torch.optim.optimizer import Optimizer
from torch.utils.data.dataloader import _BaseDataLoaderIter

from premortem.changes.batches import keep_rows, rows
from premortem.points import OVER, UNDER, Subscriptions, after_optimizer_steps, before_optimizer_steps
from premortem.probes.losses import WATCHED

Instead = Callable[..., Any]  # called with the original and its arguments
Around = Callable[[nn.Module, Callable[..., Any], Any, Any], Any]  # (root, run, args, kwargs)
Setting = Callable[[MutableMapping[str, Any]], MutableMapping[str, Any]]


class Reach:
    """`ours` says whether premortem itself is at work; `roots` and `optimizers` are what the run has already."""

    torch = torch  # for changes, which are files without torch

    def __init__(
        self,
        *,
        order: int = OVER,
        ours: Callable[[], bool] = lambda: False,
        roots: Sequence[nn.Module] = (),
        optimizers: Sequence[Optimizer] = (),
        points: Subscriptions | None = None,
    ) -> None:
        self.order = order
        self.ours = ours
        self.roots = roots
        self.optimizers = optimizers
        self.points = Subscriptions() if points is None else points
        self._undo: list[Callable[[], None]] = []
        self._thread = threading.get_ident()
        self._inside = 0

    def end(self) -> None:
        """As it was before."""
        self.points.end()
        while self._undo:
            self._undo.pop()()

    def undoing(self, undo: Callable[[], None]) -> None:
        self._undo.append(undo)

    def update(self, held: MutableMapping[str, Any], new: MutableMapping[str, Any]) -> None:
        before = {name: held.get(name) for name in new}
        held.update(new)
        self.undoing(lambda: held.update(before))

    def of_the_script(self) -> bool:
        """Whether this call was made by the script: not by premortem, not by the change itself."""
        return not self.ours() and not self._inside and threading.get_ident() == self._thread

    def instead(self, owner: Any, name: str, instead: Instead) -> None:
        """Whenever the script calls `owner.name(*args)`, call `instead(original, *args)`."""

        def make(original: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                if not self.of_the_script():
                    return original(*args, **kwargs)
                self._inside += 1
                try:
                    return instead(original, *args, **kwargs)
                finally:
                    self._inside -= 1

            return call

        self.points.add(owner, name, make, order=self.order)

    # -- optimizers -----------------------------------------------------------------------

    def on_build(self, change: Callable[[dict[str, Any]], None]) -> None:
        """`change` what an optimizer is built with: `params`, and its settings by name."""
        for cls in {Optimizer, *_subclasses(torch.optim, Optimizer)}:
            if "__init__" in vars(cls):
                self._wrap_init(cls, change)

    def _wrap_init(self, cls: type, change: Callable[[dict[str, Any]], None]) -> None:
        def built(original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> None:
            if cls is Optimizer:  # of a class of the script's own: its settings are the defaults
                params, defaults = (*args, *kwargs.values())[:2]
                given = {**defaults, "params": _groups(params)}
                change(given)
                original(optimizer, given.pop("params"), given)
                return
            bound = inspect.signature(original).bind(optimizer, *args, **kwargs)
            bound.apply_defaults()
            bound.arguments["params"] = _groups(bound.arguments["params"])
            change(bound.arguments)
            original(*bound.args, **bound.kwargs)

        self.instead(cls, "__init__", built)

    def on_built(self, met: Callable[[Optimizer], None]) -> None:
        """Each optimizer: those that are there, and those yet to be built."""

        def make(original: Any) -> Any:
            def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
                original(optimizer, *args, **kwargs)
                met(optimizer)

            return __init__

        self.points.add(Optimizer, "__init__", make, order=self.order)
        for optimizer in self.optimizers:
            met(optimizer)

    def on_settings(self, change: Setting) -> None:
        """`change` says what is new in a group of an optimizer, once it is built."""

        def met(optimizer: Optimizer) -> None:
            for group in [optimizer.defaults, *optimizer.param_groups]:
                self.update(group, change(group))

        self.on_built(met)

    def on_step(self, instead: Instead) -> None:
        """The script's `optimizer.step(…)` or `scaler.step(optimizer, …)`: `instead(step, optimizer)`. A closure that it is
        given, as by Lightning, is the script again."""
        known = set[type]()

        def stepped(original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            args, kwargs = self._closures(args, kwargs)
            return instead(functools.partial(original, optimizer, *args, **kwargs), optimizer)

        def scaled(original: Any, scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            args, kwargs = self._closures(args, kwargs)
            return instead(functools.partial(original, scaler, optimizer, *args, **kwargs), optimizer)

        def met(optimizer: Optimizer) -> None:
            # Only now: torch and premortem have put theirs around `step` when the first one was built.
            if type(optimizer) not in known:
                known.add(type(optimizer))
                self.instead(type(optimizer), "step", stepped)

        self.on_built(met)
        self.instead(torch.amp.GradScaler, "step", scaled)

    def _closures(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Arguments of a step, those that it calls as code of the script."""

        def outside(given: Any) -> Any:
            if not callable(given):
                return given

            def closure(*args: Any, **kwargs: Any) -> Any:
                inside, self._inside = self._inside, 0
                try:
                    return given(*args, **kwargs)
                finally:
                    self._inside = inside

            return closure

        return tuple(map(outside, args)), {name: outside(each) for name, each in kwargs.items()}

    def around_update(self, around: Callable[[Optimizer], AbstractContextManager[Any]]) -> None:
        """Around each update that an optimizer makes, whoever asks for it."""
        entered = ExitStack()

        def begins(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
            entered.close()  # of a step that raised
            entered.enter_context(around(optimizer))

        self.undoing(before_optimizer_steps(begins))
        self.undoing(after_optimizer_steps(lambda *_: entered.close()))
        self.undoing(entered.close)

    def in_update(self, name: str, value: Callable[[dict[str, Any], Any], Any]) -> None:
        """While an update is made, a setting of each group is `value(group, its own)`."""

        @contextmanager
        def around(optimizer: Optimizer) -> Iterator[None]:
            before = [(group, group[name]) for group in optimizer.param_groups if name in group]
            for group, own in before:
                group[name] = value(group, own)
            try:
                yield
            finally:
                for group, own in before:
                    group[name] = own

        self.around_update(around)

    def on_scheduler_step(self, instead: Instead) -> None:
        def stepped(original: Any, scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            # Its constructor makes the first step, to set the first rate: that one is not the script's.
            built = hasattr(scheduler, "_last_lr")
            return (functools.partial(instead, original) if built else original)(scheduler, *args, **kwargs)

        for cls in _subclasses(lr_scheduler, lr_scheduler.LRScheduler):
            if "step" in vars(cls):
                self.instead(cls, "step", stepped)

    # -- models and losses ----------------------------------------------------------------

    def on_backward(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        """`change` the loss that `backward()` is called on."""

        def backward(original: Any, loss: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            return original(change(loss), *args, **kwargs)

        self.instead(torch.Tensor, "backward", backward)

    def on_target(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        """`change` what a model's output is compared with."""

        def compared(original: Any, *args: Any, **kwargs: Any) -> Any:
            given = inspect.signature(original).bind(*args, **kwargs)
            target = given.arguments.get("target")
            if isinstance(target, torch.Tensor):
                given.arguments["target"] = change(target)
            return original(*given.args, **given.kwargs)

        for name in WATCHED:
            if hasattr(functional, name):
                self.instead(functional, name, compared)

    @staticmethod
    def in_training(module: nn.Module) -> bool:
        """A call whose result is trained on, as far as that can be known before."""
        return torch.is_grad_enabled() and any(p.requires_grad for p in module.parameters())

    def on_call(self, instead: Callable[[Callable[..., Any], nn.Module, int], Callable[..., Any]]) -> None:
        """Each call of a module: `instead(call, module, depth)(*args)`; depth 0 is what the script calls."""
        depth = 0

        def make(original: Any) -> Any:
            def __call__(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
                nonlocal depth
                if not self.of_the_script():
                    return original(module, *args, **kwargs)
                call = instead(functools.partial(original, module), module, depth)
                depth += 1
                try:
                    return call(*args, **kwargs)
                finally:
                    depth -= 1

            return __call__

        self.points.add(nn.Module, "__call__", make, order=self.order)

    def on_root_call(self, around: Around) -> None:
        """Each call of a model by the script: `around(root, run, args, kwargs)`."""

        def instead(call: Callable[..., Any], module: nn.Module, depth: int) -> Callable[..., Any]:
            if depth or next(module.parameters(), None) is None:
                return call
            return lambda *args, **kwargs: around(module, call, args, kwargs)

        self.on_call(instead)

    def on_root(self, met: Callable[[nn.Module], None]) -> None:
        """Each model, before it is called: those that are there, and those that the script calls later."""
        known: set[int] = set()

        def once(root: nn.Module) -> None:
            if id(root) not in known:
                known.add(id(root))
                met(root)

        def around(root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
            once(root)
            return run(*args, **kwargs)

        for root in self.roots:
            once(root)
        self.on_root_call(around)

    # -- data -----------------------------------------------------------------------------

    def on_batch(self, change: Callable[[Any, Any], Any]) -> None:
        """`change(batch, iterator)` what a loader hands out, beneath the probes: it is the data that is different."""

        def make(original: Any) -> Any:
            return lambda iterator: change(original(iterator), iterator)

        self.points.add(_BaseDataLoaderIter, "__next__", make, order=UNDER)

    def keep_samples(self, chosen: list[int]) -> None:
        """Only these samples of each batch; those that stay fill the places of the others."""

        def few(batch: Any, iterator: Any) -> Any:
            size = rows(batch)
            own = [row for row in chosen if row < size]
            return keep_rows(batch, size, own) if own else batch

        self.on_batch(few)


def _groups(params: Iterable[Any]) -> list[Any]:
    """Parameters, or groups of them, that can be read more than once."""
    return [
        {**each, "params": _listed(each["params"])} if isinstance(each, dict) else each for each in params
    ]


def _listed(params: Any) -> list[Any]:
    return [params] if isinstance(params, torch.Tensor) else list(params)


def _subclasses(room: Any, base: type) -> Iterable[type]:
    return [cls for cls in vars(room).values() if isinstance(cls, type) and issubclass(cls, base)]
