"""Whether tensors on a device are finite, as a number that stays there, so the host does not wait for it."""

import torch

UNSCALED = frozenset(
    {torch.float32, torch.float16, torch.float64}
)  # what a gradient scaler's kernel can look at


CHECK = torch._amp_foreach_non_finite_check_and_unscale_


def non_finite(tensors: list[torch.Tensor], flag: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    """The flag, 1 if one of them is not finite. One launch for all; it also multiplies them by one, which it
    leaves out. They must be of the types in `UNSCALED`."""
    CHECK(tensors, flag, one)
    return flag


def non_finite_sum(norms: list[torch.Tensor]) -> torch.Tensor:
    """1 if one of these is not finite, else 0. Norms of first order: squares would overflow too soon."""
    return (~torch.isfinite(torch.stack(norms).sum())).to(torch.float32)
