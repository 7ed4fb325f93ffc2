"""Whether one batch, trained on again and again, was seen to be learned. Pure."""

from __future__ import annotations

import math

from premortem.rehearsal.observations import Overfit

CLEAR = 0.02  # of the loss
AT_ALL = 1e-5


def falls(told: Overfit) -> bool | None:
    """True: clearly; False: not at all, at any rate, although there are gradients; None: it cannot be said."""
    if not told.tried or told.first is None or told.best is None:
        return None
    if not math.isfinite(told.first) or not math.isfinite(told.best):
        return None
    if told.best < told.first - CLEAR * abs(told.first):
        return True
    not_at_all = told.best >= told.first - AT_ALL * abs(told.first)
    return False if told.enough and not_at_all and told.gradient > 0 and abs(told.first) > 1e-6 else None
