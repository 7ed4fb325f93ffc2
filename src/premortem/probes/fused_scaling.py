"""What a gradient scaler leaves to a fused optimizer. During its step it carries two numbers of the scaler's: the scale
that its gradients still have, and whether one of them is not finite. Its kernel then divides by the one, and leaves the
step out because of the other."""

from typing import Any

import torch


def scale_of(optimizer: Any) -> torch.Tensor | None:
    scale = getattr(optimizer, "grad_scale", None)
    return scale if isinstance(scale, torch.Tensor) else None


def overflow_of(optimizer: Any) -> torch.Tensor | None:
    """Not 0 if the step is left out."""
    found = getattr(optimizer, "found_inf", None)
    return found if isinstance(found, torch.Tensor) else None


def left_out(optimizer: Any, *, may_wait: bool) -> bool:
    """Whether that is known to be so."""
    found = overflow_of(optimizer)
    return found is not None and (may_wait or found.device.type == "cpu") and bool(found)
