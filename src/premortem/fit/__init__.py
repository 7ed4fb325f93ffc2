"""Does it fit? The user's own step, run without arithmetic, on a card that is not there.

The room is also the function: `premortem.fit(step, device="4090")`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from premortem.fit.prediction import Prediction


class _Room(ModuleType):
    """`premortem.fit` is a package, and people call it."""

    def __call__(
        self, step: Callable[..., Any], *args: Any, device: str | int = "h100", **kwargs: Any
    ) -> Prediction:
        """The peak of a training function on a card, predicted without a GPU.

        `step` builds its model itself, on "cuda", and trains; it is ended after two steps of each optimizer. If it
        returns earlier it is called again. What it was given (a model too) must not be on a real card.
        """
        from premortem.errors import PremortemError, UsageError
        from premortem.fit import gpus
        from premortem.fit.answer import verdict
        from premortem.fit.prediction import predict
        from premortem.fit.session import rehearse
        from premortem.fit.trials import RESERVE, SHARE

        if not callable(step):
            raise UsageError(f"premortem.fit wants a function that trains, not {step!r}")
        gpu = gpus.by_name(device)
        trace = rehearse(lambda: step(*args, **kwargs), gpu)
        if not trace.allocations:
            raise PremortemError("the function put nothing on the GPU: there is nothing to predict")
        room = gpu.memory - gpu.context
        found = predict(trace, room)
        careful = bool(found.fits) and bool(predict(trace, int(room * SHARE)).fits)
        found.assumptions, found.device = trace.assumptions, gpu.name
        roomy = careful and found.reserved_unlimited * RESERVE <= room
        found.verdict = verdict({"fits": found.fits, "roomy": roomy})
        return found


sys.modules[__name__].__class__ = _Room
