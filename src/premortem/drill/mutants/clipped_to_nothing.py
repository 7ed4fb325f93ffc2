"""The threshold of gradient clipping is a million times too low."""

from __future__ import annotations

from typing import Any

from torch import nn

from premortem.drill.mutants.base import Mutant


class ClippedToNothing(Mutant):
    """The threshold of gradient clipping is a million times too low."""

    name = "clipped-to-nothing"
    families = frozenset({"clipping"})
    needs = "clips no gradients"

    def over(self) -> None:
        for owner in (nn.utils, nn.utils.clip_grad):
            self.stage.instead(owner, "clip_grad_norm_", self._clipped)

    def _clipped(self, original: Any, parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Any:
        self.touched += 1
        return original(parameters, max_norm * 1e-6, *args, **kwargs)
