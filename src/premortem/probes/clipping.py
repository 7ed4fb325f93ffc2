"""Gradient clipping: the limit, the norm, and whether it came in time."""

from typing import Any

import torch
from torch.nn import utils
from torch.nn.utils import clip_grad

from premortem.events import Clip
from premortem.probes.gradient_track import Track
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session, user_site


class Clipping:
    def __init__(self, session: Session, optimizers: Optimizers) -> None:
        self.session = session
        self.optimizers = optimizers
        self.calls = 0

    def install(self) -> None:
        # Two names for one function: `torch.nn.utils.clip_grad_norm_` is what people call.
        for owner in (utils, clip_grad):
            for name, after in (("clip_grad_norm_", self._by_norm), ("clip_grad_value_", self._by_value)):
                self.session.around(owner, name, after=after, quiet=self._count)

    def _count(self, *args: Any, **kwargs: Any) -> None:
        self.calls += 1
        self.session.rest.clips += 1

    def _by_norm(
        self, note: Any, norm: Any, parameters: Any, max_norm: Any = None, *args: Any, **kw: Any
    ) -> None:
        on_cpu = isinstance(norm, torch.Tensor) and norm.device.type == "cpu"
        self._tell("norm", float(kw.get("max_norm", max_norm)), float(norm) if on_cpu else None)

    def _empty(self, norm: float | None, tracks: list[Track]) -> bool:
        """Nothing to clip: the gradients were cleared, and no backward pass has made new ones."""
        held = [p for track in tracks for reference in track.sentinels if (p := reference()) is not None]
        return norm == 0 or (bool(held) and all(p.grad is None for p in held))

    def _by_value(
        self, note: Any, result: Any, parameters: Any, clip_value: Any = None, *args: Any, **kw: Any
    ) -> None:
        self._tell("value", float(kw.get("clip_value", clip_value)), None)

    def _tell(self, kind: str, limit: float, norm: float | None) -> None:
        self._count()
        self.optimizers.gradients.replaced()
        tracks = [track for track in self.optimizers.live() if track.steps]
        self.session.emit(
            Clip(
                step=self.session.step,
                at=user_site(),
                kind=kind,
                limit=limit,
                norm=norm,
                after_step=bool(tracks) and all(track.backwards == 0 for track in tracks),
                empty=self._empty(norm, tracks),
            )
        )
