"""Gradient clipping that does not spread a NaN."""

import warnings
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import utils

from premortem.parts.clip_record import ClipRecord

EPSILON = 1e-6  # torch adds it to the norm before it divides


def safe_clip(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    norm_type: float = 2.0,
    *,
    record: ClipRecord | None = None,
) -> Tensor:
    """`torch.nn.utils.clip_grad_norm_`, except where the norm is not finite. Returns the norm before clipping.

    ## Why it matters
    One NaN makes the total norm NaN, and torch's clipping then multiplies every gradient by it: a fault of one layer is
    in all of them. With an infinite norm every healthy gradient becomes 0. Here such gradients stay as they are,
    so that the culprit can still be seen. The step itself must be skipped; look at the norm:

        norm = safe_clip(model.parameters(), 1.0, record=record)
        if norm.isfinite():
            optimizer.step()

    On a CPU a norm that is not finite also gives a warning. On a GPU it is counted in the record, because a warning at once
    would mean to wait for the GPU in every step.

    ## Example
    >>> import torch
    >>> from premortem.parts import ClipRecord, safe_clip
    >>> weight, record = torch.nn.Parameter(torch.zeros(2)), ClipRecord()
    >>> weight.grad = torch.tensor([3.0, 4.0])
    >>> safe_clip([weight], max_norm=1.0, record=record).item()
    5.0
    >>> print(record)
    clipped 1 of 1 steps (100 %), to 0.2 of the norm at the median and 0.2 at the hardest
    """
    if not max_norm >= EPSILON:
        raise ValueError(f"safe_clip needs a max_norm of at least {EPSILON:g}, not {max_norm}")
    owners = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    norm = total_norm(owners, norm_type)
    scale_down(owners, max_norm, norm)
    if record is not None:
        record.add(norm, max_norm)
    if norm.is_cpu and not norm.isfinite():
        warnings.warn(
            f"safe_clip: the norm of the gradients is {norm.item()}; they were left as they are. Skip this step.",
            RuntimeWarning,
            stacklevel=2,
        )
    return norm


def total_norm(parameters: list[Tensor], norm_type: float) -> Tensor:
    gradients = [p.grad for p in parameters if p.grad is not None]
    if hasattr(utils, "get_total_norm"):
        return utils.get_total_norm(gradients, norm_type)
    return _norm_before_torch_2_6(gradients, norm_type)


def scale_down(parameters: list[Tensor], max_norm: float, norm: Tensor) -> None:
    """As torch does it, bit by bit; by exactly 1 where the norm is not finite. Nothing waits for the device."""
    if hasattr(utils, "clip_grads_with_norm_"):
        utils.clip_grads_with_norm_(parameters, max_norm, torch.where(norm.isfinite(), norm, 0.0))
    elif norm.isfinite():
        factor = (max_norm / (norm + EPSILON)).clamp(max=1.0)
        for gradient in (p.grad for p in parameters if p.grad is not None):
            gradient.detach().mul_(factor.to(gradient.device))


def _norm_before_torch_2_6(gradients: list[Tensor], norm_type: float) -> Tensor:
    if not gradients:
        return torch.tensor(0.0)
    first = gradients[0].device
    norms = [torch.linalg.vector_norm(g.detach(), norm_type).to(first) for g in gradients]
    norm: Tensor = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    return norm
