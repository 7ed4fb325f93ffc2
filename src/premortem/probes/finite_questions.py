"""A loss that is not finite, and that the script throws away: `if torch.isnan(loss): continue`, and its like.

Who asks torch is heard. Who asks in another way (`math.isfinite(loss.item())`, `loss != loss`, an exception) begins the
next step without a backward pass for the last one: then the loss is still in a variable of theirs, with its graph.
"""

import math
import sys
import types
import weakref
from typing import Any

import torch

from premortem.events import LossTested
from premortem.probes.frame_variables import variables
from premortem.probes.modules import Models
from premortem.probes.nonfinite_origin import NonFiniteOrigin
from premortem.probes.session import Session, is_user_code, user_site

WATCHED = ("isnan", "isinf", "isfinite")
_LOOKS = 256  # into the variables of a loop that calls its model several times before it goes back;
_LARGE = 1 << 20  # values; larger tensors are not searched
_THEN = 32  # ... after these one of so many times


class Questions:
    def __init__(self, session: Session, models: Models, origin: NonFiniteOrigin) -> None:
        self._suspicious = 0
        self.session = session
        self.models = models
        self.origin = origin
        self._passes = -1  # backward passes at the last call of a model in training
        self._looks = 0
        self._last: weakref.ref[torch.Tensor] | None = None  # the loss that was reported last

    def install(self) -> None:
        for name in WATCHED:
            self.session.layer(torch, name, self._wrap)
            self.session.layer(torch.Tensor, name, self._wrap)
        self.models.on_call.append(self._called)
        self.origin.sent_back.append(self._sent_back)

    def _wrap(self, original: Any) -> Any:
        session = self.session

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if args and (is_loss(args[0]) or session.in_backward):
                with session.looking_at("questions"):
                    self._asked(args[0])
            elif args and self._suspicious < _LOOKS and session.scope is None and are_values(args[0]):
                with session.looking_at("questions"):
                    self._suspect(args[0].detach())
            return result

        return wrapper

    def _asked(self, tensor: Any) -> None:
        """About a scalar with a graph: a loss. On a GPU its value is not waited for. Or about a gradient, in a hook."""
        if is_loss(tensor):
            self._tell(tensor, float(tensor.detach()))
        elif self.session.in_backward and isinstance(tensor, torch.Tensor):
            self.origin.asked_about_gradient(tensor, user_site())

    def _suspect(self, values: torch.Tensor) -> None:
        """Someone asks which values are finite, and some are not: perhaps it is to replace them. Masks are -inf on purpose."""
        self._suspicious += 1
        if float(values.sum()) != float(values.sum()) or bool((values == math.inf).any()):
            self.origin.microscope_schedule.suspect()

    def _called(self, model: Any, grad: bool, tensors: list[torch.Tensor]) -> None:
        """A model is called, and no backward pass came since its last call: was there a loss?"""
        module = model.module()
        if not grad or module is None or not module.training:
            return
        unfinished, self._passes = self._passes == self.session.passes, self.session.passes
        if not unfinished:
            return
        self._looks += 1
        if self._looks <= _LOOKS or self._looks % _THEN == 0:
            loss = broken_loss()
            if loss is not None and (self._last is None or self._last() is not loss):
                self._tell(loss, float(loss.detach()))

    def _sent_back(self, loss: torch.Tensor) -> None:
        """It was used. Until the next one is computed it stays in its variable, where `_called` would find it."""
        held = broken_loss()
        self._last = weakref.ref(held if held is not None else loss)

    def _tell(self, loss: torch.Tensor, value: float) -> None:
        at = user_site()
        self._last = weakref.ref(loss)
        if not self.session.resting or not math.isfinite(value):
            self.session.emit(LossTested(step=self.session.step, at=at, value=value))
        if not math.isfinite(value):
            self.origin.asked(loss, value, at)


def is_loss(tensor: Any) -> bool:
    return (
        isinstance(tensor, torch.Tensor)
        and tensor.grad_fn is not None
        and tensor.numel() == 1
        and tensor.device.type == "cpu"
        and not tensor.is_complex()
    )


def are_values(tensor: Any) -> bool:
    """Of many, in a forward pass; gradients are looked at elsewhere."""
    return (
        isinstance(tensor, torch.Tensor)
        and tensor.is_floating_point()
        and tensor.device.type == "cpu"
        and 1 < tensor.numel() <= _LARGE
        and torch.is_grad_enabled()
    )


def broken_loss() -> torch.Tensor | None:
    """A scalar with a graph that is not finite, in a variable of the user's own frames."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code.co_filename):
            for value in list(variables(frame).values()):
                if is_loss(value) and not math.isfinite(float(value.detach())):
                    return value  # type: ignore[no-any-return]  # asked just now
        frame = frame.f_back
    return None
