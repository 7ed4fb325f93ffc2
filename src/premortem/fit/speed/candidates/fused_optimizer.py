"""One kernel for the whole update."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from premortem.fit.speed.candidates.base import Candidate

_DEVICES = frozenset({"cuda", "cpu", "mps", "xpu"})


class FusedOptimizer(Candidate):
    """`fused=True`: the optimizer reads and writes each weight once, and needs no copies for it."""

    name: ClassVar[str] = "fused-optimizer"

    def __init__(self, scene: Any) -> None:
        super().__init__(scene)
        self._groups = [group for optimizer in scene.optimizers for group in optimizer.param_groups]
        self._before: list[tuple[Any, Any]] = []
        self._moved: list[tuple[dict[str, Any], torch.device]] = []

    def obstacle(self) -> str:
        kinds = {type(optimizer).__name__ for optimizer in self.scene.optimizers}
        if not all("fused" in group for group in self._groups):
            return f"{', '.join(sorted(kinds))} has no fused form"
        if all(group["fused"] for group in self._groups):
            return "it is fused already"
        held = [p for group in self._groups for p in group["params"]]
        if any(p.device.type not in _DEVICES or not p.is_floating_point() for p in held):
            return "it is not made for where the weights are"
        if any(group.get("differentiable") for group in self._groups):
            return "the update is differentiated"
        return ""

    def apply(self) -> None:
        self._before = [(group["fused"], group.get("foreach")) for group in self._groups]
        for group in self._groups:
            group["fused"], group["foreach"] = True, False
        self._moved = []
        for optimizer in self.scene.optimizers:
            for parameter, held in optimizer.state.items():
                step = held.get("step") if isinstance(held, dict) else None
                if isinstance(step, torch.Tensor) and step.device != parameter.device:
                    self._moved.append((held, step.device))
                    held["step"] = step.to(parameter.device)

    def revert(self) -> None:
        for group, (fused, foreach) in zip(self._groups, self._before, strict=True):
            group["fused"], group["foreach"] = fused, foreach
        for held, device in self._moved:
            held["step"] = held["step"].to(device)

    def how(self) -> str:
        return f"{type(self.scene.optimizers[0]).__name__}(..., fused=True)"
