"""Where a mutant can reach into a script: the calls that scripts make, each wrapped once.

What the script itself does wrong is wrapped *over* premortem's probes, so that they hear the wrong call, or none.
Premortem's own use of torch goes past the mutant.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.optim import lr_scheduler
from torch.optim.optimizer import Optimizer

from premortem.points import OVER, Subscriptions

LOSSES = (
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "gaussian_nll_loss",
    "poisson_nll_loss",
)
Instead = Callable[..., Any]  # called with the original and its arguments


class Stage:
    def __init__(self) -> None:
        self.session: Any = None  # premortem's, when it watches
        self.points = Subscriptions()
        self._thread = threading.get_ident()
        self._inside = 0

    def of_the_script(self) -> bool:
        """Whether this call was made by the script: not by premortem, not by the mutant itself."""
        looking = self.session is not None and self.session.looking
        return not looking and not self._inside and threading.get_ident() == self._thread

    def instead(self, owner: Any, name: str, instead: Instead) -> None:
        """Whenever the script calls `owner.name(*args)`, call `instead(original, *args)`."""

        def make(original: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                if not self.of_the_script():
                    return original(*args, **kwargs)
                return self._within(instead, original, *args, **kwargs)

            return call

        self.points.add(owner, name, make, order=OVER)

    def _within(self, instead: Instead, *args: Any, **kwargs: Any) -> Any:
        self._inside += 1
        try:
            return instead(*args, **kwargs)
        finally:
            self._inside -= 1

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

    def on_step(self, instead: Instead) -> None:
        """The script's `optimizer.step(…)` or `scaler.step(optimizer, …)`: `instead(step, optimizer)`."""

        def stepped(original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            return instead(lambda: original(optimizer, *args, **kwargs), optimizer)

        def scaled(original: Any, scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            return instead(lambda: original(scaler, optimizer, *args, **kwargs), optimizer)

        self._on_every_class(stepped)
        self.instead(torch.amp.GradScaler, "step", scaled)

    def _on_every_class(self, stepped: Instead) -> None:
        """When the first one is built: torch and premortem have put theirs around `step` by then."""
        known = set[type]()

        def make(original: Any) -> Any:
            def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
                original(optimizer, *args, **kwargs)
                if type(optimizer) not in known:
                    known.add(type(optimizer))
                    self.instead(type(optimizer), "step", stepped)

            return __init__

        self.points.add(Optimizer, "__init__", make, order=OVER)

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
        for name in LOSSES:

            def compared(original: Any, given: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
                fits = isinstance(target, torch.Tensor) and target.grad_fn is None
                return original(given, change(target) if fits else target, *args, **kwargs)

            self.instead(functional, name, compared)

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

        self.points.add(nn.Module, "__call__", make, order=OVER)


def _groups(params: Iterable[Any]) -> list[Any]:
    """Parameters, or groups of them, that can be read more than once."""
    return [
        {**each, "params": _listed(each["params"])} if isinstance(each, dict) else each for each in params
    ]


def _listed(params: Any) -> list[Any]:
    return [params] if isinstance(params, torch.Tensor) else list(params)


def _subclasses(room: Any, base: type) -> Iterable[type]:
    return [cls for cls in vars(room).values() if isinstance(cls, type) and issubclass(cls, base)]


def in_training(module: nn.Module) -> bool:
    """A call whose result is trained on, as far as that can be known before."""
    return torch.is_grad_enabled() and any(p.requires_grad for p in module.parameters())
