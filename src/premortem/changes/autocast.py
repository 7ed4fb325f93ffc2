from __future__ import annotations

from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Memory, RunDescription, Time
from premortem.changes.batches import mapped
from premortem.changes.late import nn, torch


class AutocastBf16(Change):
    """The model runs under autocast in bfloat16; its outputs are handed on in float32."""

    name = "autocast-bf16"
    memory = Memory(
        title="run the forward pass under torch.autocast('cuda', torch.bfloat16)",
        cost="activations are rounded to 8 bits of mantissa; faster on cards with tensor cores",
    )
    time = Time(name="autocast", exact=False)

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        if run.autocast:
            return "the script uses autocast already"
        return "the weights have 16 bits already" if run.low_weights or run.low_precision else ""

    @classmethod
    def prevented(cls, run: RunDescription) -> str:
        if run.bfloat16:
            return ""
        return "this device has no bfloat16; float16 needs a GradScaler in the loop, which cannot be added from outside"

    def put_on(self) -> None:
        cast = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
        self._layers: set[int] = set()
        self._low: set[int] = set()

        def met(root: nn.Module) -> None:
            layers = [part for part in root.modules() if isinstance(part, cast)]
            self._layers |= set(map(id, layers))
            if self.watched:
                for layer in layers:
                    self.reach.undoing(layer.register_forward_hook(self._look).remove)

        self.reach.on_root(met)
        self.reach.on_root_call(self._called)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self.touched += 1
        with torch.autocast(self.run.device, dtype=torch.bfloat16):
            result = run(*args, **kwargs)
        return mapped(result, lambda t: t.float() if t.dtype == torch.bfloat16 else t)

    def _look(self, layer: nn.Module, args: Any, result: torch.Tensor) -> None:
        if str(result.dtype) == "torch.bfloat16":
            self._low.add(id(layer))

    def in_force(self) -> str:
        if not self.watched or not self._layers:
            return ""
        return f"{len(self._low)} of {len(self._layers)} linear layers and convolutions ran in bfloat16"

    def how(self) -> str:
        return f'with torch.autocast("{self.run.device}", dtype=torch.bfloat16): around the forward pass and the loss'
