"""Whether a script evaluates on the samples that it trains on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from premortem.changes.batches import leaves
from premortem.changes.reach import Reach

_MOST = 4096  # samples of each kind
_OF_A_CALL = 64


class RowsSeen:
    def __init__(self) -> None:
        self._trained: set[int] = set()
        self._evaluated: set[int] = set()

    def install(self, reach: Reach) -> None:
        reach.on_root_call(self._called)

    @property
    def share(self) -> float:
        """Of the samples that a model was given without gradients, those that it was given with gradients as well."""
        return len(self._evaluated & self._trained) / len(self._evaluated) if self._evaluated else 0.0

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        seen = self._trained if torch.is_grad_enabled() else self._evaluated
        given = next((each for each in leaves((args, kwargs)) if each.dim() > 1), None)
        if given is not None and len(seen) < _MOST and not given.requires_grad:
            rows = given[:_OF_A_CALL].detach().cpu().contiguous()
            seen.update(hash(row.numpy().tobytes()) for row in rows if row.dtype != torch.bfloat16)
        return run(*args, **kwargs)
