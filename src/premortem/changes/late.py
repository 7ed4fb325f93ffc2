"""torch for files that load without it: imported when something of it is first asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import nn
else:

    class Late:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(importlib.import_module(self._name), name)

    torch, nn = Late("torch"), Late("torch.nn")

__all__ = ["nn", "torch"]
