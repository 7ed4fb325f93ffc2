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
            self.session.patch(torch, name, self._wrap)
            self.session.patch(torch.Tensor, name, self._wrap)

    def _wrap(self, original: Any) -> Any:
        session = self.session

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if not torch.compiler.is_compiling() and session.listening() and args:
                with session.looking_at("questions"):
                    self._asked(args[0])
            return result

        return wrapper

    def _asked(self, tensor: Any) -> None:
        """About a scalar with a graph: a loss. On a GPU nobody waits for its value."""
        if not isinstance(tensor, torch.Tensor) or tensor.grad_fn is None or tensor.numel() != 1:
            return
        if tensor.device.type != "cpu" or tensor.is_complex():
            return
        value, at = float(tensor.detach()), user_site()
        self.session.emit(LossTested(step=self.session.step, at=at, value=value))
        if not math.isfinite(value):
            self.nonfinite_origin.asked(tensor, value, at)
