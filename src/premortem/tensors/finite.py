"""Whether tensors on a device are finite, as a number that stays there, so the host does not wait for it."""

import torch

UNSCALED = frozenset(
    {torch.float32, torch.float16, torch.float64}
)  # what a gradient scaler's kernel can look at


CHECK = torch._amp_foreach_non_finite_check_and_unscale_
NORMS = torch._foreach_norm  # noqa: SLF001 - torch has no other name for it


NARROW = frozenset({torch.float32, torch.bfloat16, torch.float16})


def summed(tensor: torch.Tensor) -> torch.Tensor:
    """A number in 32 bits, left where the tensor is, that is finite only if all of its numbers are. On a device a norm: its kernel is
    used for the gradients as well, and that of a sum would be loaded for this alone (18 MB)."""
    if tensor.is_cpu or tensor.dtype not in NARROW:
        return tensor.sum(dtype=torch.float32)
    return NORMS([tensor], 1, torch.float32)[0]


def non_finite(tensors: list[torch.Tensor], flag: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    """The flag, 1 if one of them is not finite. One launch for all; it also multiplies them by one, which it
    leaves out. They must be of the types in `UNSCALED`."""
    CHECK(tensors, flag, one)
    return flag


def non_finite_sum(norms: list[torch.Tensor]) -> torch.Tensor:
    """1 if one of these is not finite, else 0. Norms of first order: squares would overflow too soon."""
    return (~torch.isfinite(torch.stack(norms).sum())).to(torch.float32)
