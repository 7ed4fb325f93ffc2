from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from premortem.points import Subscriptions


class ChannelsLast:
    """Convolutions read and write channels last, so that cuDNN needs no copies in that order."""

    name = "channels-last"
    title = "model.to(memory_format=torch.channels_last), and the images too"
    cost = "none where all layers support it; often faster with autocast"

    @staticmethod
    def wanted(result: dict[str, Any]) -> bool:
        return bool(result["convolutions"]) and not result["channels_last"]

    @staticmethod
    def apply(points: Subscriptions) -> None:
        call = nn.Module.__call__
        seen: set[int] = set()

        def ordered(thing: Any) -> Any:
            if isinstance(thing, Tensor) and thing.dim() == 4:
                return thing.contiguous(memory_format=torch.channels_last)
            return thing

        def called(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            if isinstance(module, nn.Conv2d):
                if id(module) not in seen:
                    seen.add(id(module))
                    module.weight.data = ordered(module.weight.data)
                args = tree_map(ordered, args)
            return call(module, *args, **kwargs)

        points.replace(nn.Module, "__call__", called)
