"""Whether one batch, trained on again and again, was seen to be learned. Pure."""

import math

from premortem.rehearsal.observations import Overfit

CLEAR = 0.02  # of the loss
AT_ALL = 1e-5


def falls(overfit: Overfit) -> bool | None:
    """True: clearly; False: not at all, at any rate, although there are gradients; None: not known."""
    if not overfit.tried or overfit.first is None or overfit.best is None:
        return None
    if not math.isfinite(overfit.first) or not math.isfinite(overfit.best):
        return None
    if overfit.best < overfit.first - CLEAR * abs(overfit.first):
        return True
    not_at_all = overfit.best >= overfit.first - AT_ALL * abs(overfit.first)
    return (
        False
        if overfit.enough and not_at_all and overfit.gradient > 0 and abs(overfit.first) > 1e-6
        else None
    )
