"""Numbers about tensors, for the audit gear. They read memory, so on a GPU they wait for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch

from premortem.probes.sampling import stride_over
from premortem.tensors.sharding import local

_SAMPLE = 1 << 14
_COMPARED = 4096  # elements of a parameter that are compared from step to step
# Bytes that come to the host in less time than it takes to load one kernel that only an audit uses.
_CARRIED = 1 << 22


class Summary(NamedTuple):
    mean: float
    std: float
    low: float
    high: float
    finite: bool

    @classmethod
    def nothing(cls) -> Summary:
        return cls(0.0, 0.0, 0.0, 0.0, True)


def telling(losses: Sequence[float]) -> float | None:
    """Of the micro-batches of a broken step: the first that was not finite, as what follows it may look sound."""
    last = losses[-1] if losses else None
    return next((loss for loss in losses if not math.isfinite(loss)), last)


def on_host(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers on the CPU, unless they are many. A kernel of a device is loaded when it is first used, which takes
    up to 0.1 s and 10 to 90 MB of the host's memory: what a handful of audited steps asks for is computed here instead."""
    if tensor.device.type in {"cpu", "meta"} or tensor.numel() * tensor.element_size() > _CARRIED:
        return tensor
    return tensor.detach().cpu()


def some_of(parameter: torch.Tensor) -> torch.Tensor:
    """An even sample of a parameter's values, on the host, as they are."""
    flat = on_host(parameter.detach()).reshape(-1)
    return on_host(flat[:: max(1, flat.numel() // _COMPARED)])


def sample(tensor: torch.Tensor) -> torch.Tensor:
    """Up to 16 k values, evenly spread, as float32, on the host."""
    flat = on_host(tensor.detach())
    if flat.layout != torch.strided:
        flat = flat.coalesce().values() if flat.is_sparse else flat.to_dense()
    flat = flat.reshape(-1)
    stride = stride_over(flat.numel(), _SAMPLE) if flat.numel() > _SAMPLE else 1
    flat = on_host(flat[::stride])
    return flat.float() if not flat.is_complex() else flat.abs().float()


def summarise(tensor: torch.Tensor) -> Summary:
    values = sample(tensor)
    if not values.numel():
        return Summary.nothing()
    low, high = values.aminmax()
    std, mean = torch.std_mean(values, correction=0)
    a, b, c, d = torch.stack([mean, std, low, high]).tolist()
    return Summary(a, b, c, d, finite=all(map(math.isfinite, (a, b, c, d))))


def norm(tensor: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(sample(tensor)))


def share(mask: torch.Tensor) -> float:
    return float(on_host(mask).float().mean()) if mask.numel() else 0.0


def dead_share(value: torch.Tensor) -> float:
    """Share of units (channels, or last dimension) that are exactly zero for every sample."""
    if value.dim() < 2:
        return 0.0
    value = on_host(value)
    unit = 1 if value.dim() >= 4 else value.dim() - 1
    others = [d for d in range(value.dim()) if d != unit]
    alive = (value != 0).sum(dim=others) > 0
    return share(~alive)


def twin_share(parameters: Iterable[torch.Tensor]) -> float:
    """Share of output units whose incoming weights equal those of another unit: they stay equal forever."""
    for weight in map(local, parameters):
        if weight.dim() < 2 or weight.shape[0] < 2 or weight.numel() > 1 << 20:
            continue
        rows = on_host(weight.detach()).reshape(weight.shape[0], -1)
        return 1.0 - float(torch.unique(rows, dim=0).shape[0]) / rows.shape[0]
    return 0.0
