"""In the script's process: each turn of its own loop is run in the way that the agenda asks for.

    optimizer.step()      the turn before ends here: time, loss and gradients are noted
    ─ put on              what the next turn is to be run with; random numbers and batch are those of every turn
    │ next batch          the kept one
    │ forward, backward   the script's own code
    └ optimizer.step()    made with a learning rate of 0: every turn starts from the same weights

A root module is called through the attribute that `Module.compile` uses for the same purpose, so that neither the class
nor the module's own `forward` is touched, and compilers see what they would see without us.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Generator
from typing import Any

import torch
from torch import nn
from torch.amp.grad_scaler import GradScaler
from torch.optim.optimizer import (
    Optimizer,
)
from torch.utils import _pytree as tree
from torch.utils import checkpoint as checkpoints

from premortem.changes import Change
from premortem.changes.reach import Around
from premortem.fit.speed import breaks
from premortem.fit.speed.agenda import Turn
from premortem.fit.speed.batches import Batches
from premortem.fit.speed.machine import peak, synchronize
from premortem.fit.speed.numerics import Seen, sketch
from premortem.fit.speed.scene import Scene, TurnReach
from premortem.points import Subscriptions, after_optimizer_steps, before_optimizer_steps
from premortem.tensors import generators


class Finished(SystemExit):
    """The agenda is done. Passes through `except Exception`."""


class Stage:
    def __init__(
        self, scene: Scene, plan: Generator[Turn, Seen, None], candidates: dict[str, Change]
    ) -> None:
        self.scene = scene
        self.plan = plan
        self.candidates = candidates
        self.turn: Turn | None = None
        self.over = False
        self.graphs = 0
        self.breaks: list[breaks.Break] = []
        self.compile_error = ""
        self.errors_hidden = False
        self.recompiled: list[breaks.Break] = []  # by the last candidate that compiles, on its own
        self._explained: set[int] = set()
        self._on: list[Change] = []
        self._target: Optimizer | None = None
        self._error = ""
        self._losses: list[torch.Tensor] = []
        self._gradient: torch.Tensor | None = None
        self._rates: list[tuple[dict[str, Any], Any]] = []
        self._began = self._stopped = 0.0
        self._depth = 0
        self._backwards = 0  # that are running: a reentrant checkpoint starts one inside another
        self._stepped = False
        self._covered = False
        self._batches = Batches(scene)
        self._chances: dict[int, Any] = {}
        self._lengths: list[float] = []  # of the weights, to see whether they stay
        self._weights: list[tuple[torch.Tensor, torch.Tensor]] = []  # and copies of them where they do not
        self._calls = Subscriptions()  # of modules, until the roots are known

    def install(self) -> None:
        before_optimizer_steps(self._before_step)
        after_optimizer_steps(self._after_step)
        self._calls.add(nn.Module, "__call__", self._discovering)
        points = Subscriptions()
        points.add(torch.autograd, "backward", self._wrap_backward)
        self._batches.install(points)
        points.add(GradScaler, "step", self._wrap_scaler)
        points.add(checkpoints, "checkpoint", self._wrap_checkpoint)

    # -- finding out what the step is made of ---------------------------------------------

    def _discovering(self, original: Any) -> Any:
        def __call__(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if self._depth or torch.compiler.is_compiling() or next(module.parameters(), None) is None:
                return original(module, *args, **kwargs)
            if torch.is_grad_enabled() and not self._backwards:  # there, checkpoints run their parts again
                self._met(module, args, kwargs)
            self._depth = 1
            try:
                return original(module, *args, **kwargs)
            finally:
                self._depth = 0

        return __call__

    def _met(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        if not any(module is root for root in self.scene.roots):
            self.scene.roots.append(module)
        tensors = [leaf for leaf in tree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        self.scene.shapes.add(tuple(tuple(tensor.shape) for tensor in tensors))
        self.scene.autocast |= torch.is_autocast_enabled(tensors[0].device.type if tensors else "cpu")

    def _cover_roots(self) -> None:
        """From here on only the roots are looked at, and the class is as it was."""
        self._calls.end()
        self._covered = True
        for root in self.scene.roots:
            own = root._compiled_call_impl or root._call_impl
            through = functools.partial(self._through, root, own)
            through.premortem = True  # type: ignore[attr-defined]
            root._compiled_call_impl = through

    def _wrap_checkpoint(self, original: Any) -> Any:
        def checkpoint(function: Any, *args: Any, use_reentrant: Any = None, **kwargs: Any) -> Any:
            self.scene.checkpoints = True
            self.scene.reentrant |= use_reentrant is None or bool(use_reentrant)
            return original(function, *args, use_reentrant=use_reentrant, **kwargs)

        return checkpoint

    # -- what the script does -------------------------------------------------------------

    def _through(self, root: nn.Module, own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not self._on or self._error:
            return own(*args, **kwargs)
        if any(change.time is not None and change.time.explains for change in self._on):
            self._explain(root, args, kwargs)
        run = own
        for change in self._on:
            for around in change.reach.around if isinstance(change.reach, TurnReach) else ():
                run = functools.partial(_around, around, root, run)
        try:
            return run(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the script must not end because of a speed-up
            self._failed(error)
            return own(*args, **kwargs)

    def _explain(self, root: nn.Module, args: Any, kwargs: Any) -> None:
        """Once for each root, before anything is compiled: it throws away what is."""
        if id(root) in self._explained or not torch.is_grad_enabled():
            return
        self._explained.add(id(root))
        chance = generators.now()
        inner = getattr(root, "_orig_mod", root)  # of a model that the script has compiled
        self.errors_hidden |= breaks.hide_errors(hide=False)
        graphs, found, error = breaks.graph_breaks(inner._call_impl, args, kwargs)
        chance.put_back()
        breaks.forget()
        self.graphs += graphs
        self.breaks += found
        self.compile_error = self.compile_error or error

    def _failed(self, error: Exception) -> None:
        self._error = breaks.first_line(f"{type(error).__name__}: {error}") or type(error).__name__
        for change in self._on:
            change.take_off()
        self._on = []

    def _wrap_backward(self, original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            loss = tensors[0] if isinstance(tensors, (list, tuple)) else tensors
            if loss.numel() == 1 and not self._backwards:
                self._losses.append(loss.detach())
            self._backwards += 1
            try:
                return original(tensors, *args, **kwargs)
            except Exception as error:
                if not self._on:
                    raise
                self._failed(error)  # the script goes on; this step is made with a rate of 0
            finally:
                self._backwards -= 1

        return backward

    def _wrap_scaler(self, original: Any) -> Any:
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            self._stepped = False
            result = original(scaler, optimizer, *args, **kwargs)
            if not self._stepped:  # it found the gradients not to be finite
                self._ended(optimizer)
            return result

        return step

    # -- the end of a turn ----------------------------------------------------------------

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if not any(optimizer is known for known in self.scene.optimizers):
            self.scene.optimizers.append(optimizer)
        if self.turn is not None and self.turn.purpose != "run-in":
            for group in optimizer.param_groups:
                self._rates.append((group, group["lr"]))
                rate = group["lr"]
                group["lr"] = torch.zeros_like(rate) if isinstance(rate, torch.Tensor) else 0.0

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        for group, rate in self._rates:
            group["lr"] = rate
        self._rates.clear()
        self._stepped = True
        # Afterwards, because a closure makes them inside the step. At a rate of 0 they are still what they were.
        if self.turn is not None and self.turn.purpose == "compare" and optimizer is self._target:
            self._gradient = sketch([optimizer])
        self._ended(optimizer)

    def _ended(self, optimizer: Optimizer) -> None:
        if self.over:
            raise Finished(0)
        self._target = self._target or optimizer
        if optimizer is not self._target:
            return
        if self.turn is None or self.turn.purpose == "run-in":
            self._batches.keep()
        self._begin(self._seen() if self.turn is not None else None)

    def _seen(self) -> Seen:
        turn = self.turn
        assert turn is not None  # noqa: S101 - asked by the caller
        if turn.last:
            synchronize()
        self._stopped = time.perf_counter()
        seconds = self._stopped - self._began
        if turn.purpose == "time":
            return Seen(seconds, peak=peak() if turn.last else 0, error=self._error)
        if turn.purpose == "compare" and len(self._on) == 1 and (role := self._on[0].time) and role.compiles:
            self.recompiled = breaks.recompiles()
            breaks.forget()
        in_force = " and ".join(filter(None, (change.in_force() for change in self._on)))
        losses = tuple(float(loss) for loss in self._losses)
        return Seen(seconds, losses, self._gradient, peak(), self._error, in_force)

    def _begin(self, seen: Seen | None) -> None:
        before = self.turn
        try:
            self.turn = self.plan.send(seen) if seen is not None else next(self.plan)
        except StopIteration:
            self._take_off()
            self.over = True
            raise Finished(0) from None
        if self.turn.purpose != "run-in":
            if not self._covered:
                self._cover_roots()
            self._same_start(self.turn)
        self._losses, self._gradient = [], None
        self._batches.begin(self.turn)
        if before is not None and not before.last:  # within a block nothing changes, and nothing waits
            self._began = self._stopped
            return
        self._take_off()
        self._put_on(self.turn)
        synchronize()
        if torch.cuda.is_initialized():
            torch.cuda.reset_peak_memory_stats()
        self._began = time.perf_counter()

    def _take_off(self) -> None:
        for change in self._on:
            change.take_off()
        self._on, self._error = [], ""

    def _put_on(self, turn: Turn) -> None:
        try:
            changes = [self.candidates[name] for name in turn.names]
            # What calls a model in its own way goes inside, where the others are around it.
            for change in sorted(changes, key=lambda each: each.time is None or not each.time.explains):
                change.watched = turn.purpose == "compare" and len(turn.names) == 1
                self._on.append(change)
                change.put_on()
        except Exception as error:  # noqa: BLE001 - it cannot even be put on: that is a result
            self._failed(error)

    def _same_start(self, turn: Turn) -> None:
        """Random numbers, and weights where an optimizer moves them at any rate."""
        if turn.chance not in self._chances:
            if self._chances:
                torch.manual_seed(turn.chance)
            self._chances[turn.chance] = generators.now()
        self._chances[turn.chance].put_back()
        held = [p for o in self.scene.optimizers for group in o.param_groups for p in group["params"]]
        with torch.no_grad():
            if self._weights:
                for parameter, copy in self._weights:
                    parameter.copy_(copy)
                return
            lengths = [float(norm) for norm in torch._foreach_norm(held)]
            if self._lengths and lengths != self._lengths:
                self._weights = [(p, p.detach().clone()) for p in held]
            self._lengths = lengths


def _around(around: Around, root: nn.Module, run: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return around(root, run, args, kwargs)
