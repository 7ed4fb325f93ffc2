from __future__ import annotations

from typing import Any

import torch
from torch import nn

from premortem.points import Subscriptions


class AutocastBf16:
    """The forward pass of the model under bfloat16 autocast."""

    name = "autocast-bf16"
    title = "run the forward pass under torch.autocast('cuda', torch.bfloat16)"
    cost = "activations are rounded to 8 bits of mantissa; faster on cards with tensor cores"

    @staticmethod
    def wanted(result: dict[str, Any]) -> bool:
        return bool(result["knows_bf16"]) and not result["low_precision"]

    @staticmethod
    def apply(points: Subscriptions) -> None:
        call = nn.Module.__call__
        depth = 0

        def called(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            if depth:
                return call(module, *args, **kwargs)
            depth += 1
            try:
                with torch.autocast("cuda", torch.bfloat16):
                    return call(module, *args, **kwargs)
            finally:
                depth -= 1

        points.replace(nn.Module, "__call__", called)
