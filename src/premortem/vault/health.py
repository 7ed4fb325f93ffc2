"""Whether the numbers of a checkpoint can be right.

One pass over each tensor: its smallest and its largest value. A NaN comes through both, an infinity is one of
them, and two zeros mean that nothing else is in it. What looks wrong is looked at a second time, because some
tensors hold infinities on purpose: an attention mask, a running minimum that has not begun.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_SMALL = 8  # elements; a few zeros are a bias or a counter, not a lost layer


@dataclass(frozen=True, slots=True)
class NonFinite:
    """A tensor with numbers that are none."""

    name: str
    nan: int
    inf: int
    elements: int

    def __str__(self) -> str:
        kinds = [f"{count:,} {word}" for count, word in ((self.nan, "NaN"), (self.inf, "infinite")) if count]
        return f"{' and '.join(kinds)} of {self.elements:,} values"


@dataclass(frozen=True, slots=True)
class Health:
    """The result of checking the numbers. Zeros alone are no fault: some layers begin that way."""

    non_finite: list[str] = field(default_factory=list)
    all_zero: list[str] = field(default_factory=list)
    looked_at: int = 0  # tensors
    counts: dict[str, NonFinite] = field(default_factory=dict)  # of the non-finite ones

    @property
    def ok(self) -> bool:
        return not self.non_finite


def examine(tensors: Mapping[str, torch.Tensor] | Iterable[tuple[str, torch.Tensor]]) -> Health:
    """Look at every floating point tensor once. On a device this waits for it once, at the end."""
    import torch

    pairs = tensors.items() if isinstance(tensors, Mapping) else tensors
    non_finite: list[NonFinite] = []
    all_zero: list[str] = []
    waiting: list[tuple[str, Any, Any]] = []  # on a device: bounds that are not yet read
    looked_at = 0
    with torch.no_grad():
        for name, given in pairs:
            values = _numbers(given)
            if values is None:
                continue
            looked_at += 1
            bounds = torch.stack(torch.aminmax(values)).double()
            if values.device.type == "cpu":
                _judge(name, values, bounds.tolist(), non_finite, all_zero)
            else:
                waiting.append((name, values, bounds))
        for (name, values, _), read in zip(waiting, _read(waiting), strict=True):
            _judge(name, values, read, non_finite, all_zero)
    return Health([each.name for each in non_finite], all_zero, looked_at, {n.name: n for n in non_finite})


def _read(waiting: list[tuple[str, Any, Any]]) -> list[list[float]]:
    import torch

    if not waiting:
        return []
    home = waiting[0][2].device
    read: list[list[float]] = torch.stack([bounds.to(home) for _, _, bounds in waiting]).tolist()
    return read


def _numbers(tensor: Any) -> Any:
    """The values as something aminmax takes; None when they cannot be anything but finite."""
    import torch

    if tensor.device.type == "meta" or getattr(tensor, "is_quantized", False):
        return None
    if tensor.layout != torch.strided:
        # Compressed layouts keep their values elsewhere; all of them keep only what was stored.
        tensor = tensor.detach().coalesce().values() if tensor.layout == torch.sparse_coo else tensor.values()
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    if not tensor.is_floating_point() or not tensor.numel():
        return None
    return tensor if tensor.element_size() > 1 else tensor.float()


def _judge(
    name: str, values: Any, bounds: list[float], non_finite: list[NonFinite], all_zero: list[str]
) -> None:
    low, high = bounds
    if math.isfinite(low) and math.isfinite(high):
        if low == high == 0.0 and values.numel() > _SMALL:
            all_zero.append(name)
        return
    nan, inf = int(values.isnan().sum()), int(values.isinf().sum())
    if not nan and (values.dim() == 0 or _is_mask(values)):
        return
    non_finite.append(NonFinite(name, nan, inf, values.numel()))


def _is_mask(values: Any) -> bool:
    """Minus infinity beside zeros, or above a diagonal: an attention mask, kept as a buffer."""
    if bool((values == math.inf).any()):
        return False
    hidden = values == -math.inf
    kept = values[~hidden]
    if kept.numel() and not bool(kept.any()):
        return True
    if values.dim() < 2 or values.shape[-1] != values.shape[-2]:
        return False
    import torch

    above = torch.ones(values.shape[-2:], dtype=torch.bool, device=values.device).triu(1)
    return bool((hidden == above).all())
