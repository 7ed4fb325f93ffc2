"""`torch.isnan(loss)`, `torch.isfinite(loss)`: a script that asks this may hide what it hears."""

from __future__ import annotations

import math
from typing import Any

import torch

from premortem.events import LossTested
from premortem.probes.nonfinite_origin import NonFiniteOrigin
from premortem.probes.session import Session, user_site

WATCHED = ("isnan", "isinf", "isfinite")


class Questions:
    def __init__(self, session: Session, nonfinite_origin: NonFiniteOrigin) -> None:
        self.session = session
        self.nonfinite_origin = nonfinite_origin

    def install(self) -> None:
        for name in WATCHED:
            self.session.layer(torch, name, self._wrap)
            self.session.layer(torch.Tensor, name, self._wrap)

    def _wrap(self, original: Any) -> Any:
        session = self.session

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if args and is_loss(args[0]):
                with session.looking_at("questions"):
                    self._asked(args[0])
            return result

        return wrapper

    def _asked(self, loss: torch.Tensor) -> None:
        value, at = loss.item(), user_site()
        if not self.session.resting or not math.isfinite(value):
            self.session.emit(LossTested(step=self.session.step, at=at, value=value))
        if not math.isfinite(value):
            self.nonfinite_origin.asked(loss, value, at)


def is_loss(tensor: Any) -> bool:
    """A scalar with a graph. On a GPU nobody waits for its value."""
    scalar = isinstance(tensor, torch.Tensor) and tensor.grad_fn is not None and tensor.numel() == 1
    return scalar and tensor.device.type == "cpu" and not tensor.is_complex()
