"""GradScaler: its scale, and the steps it refused."""

from __future__ import annotations

from typing import Any

from torch.amp.grad_scaler import GradScaler

from premortem.events import ScalerUpdate
from premortem.probes.session import Session, user_site


class Scalers:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._skipped = False

    def install(self) -> None:
        self.session.around(GradScaler, "step", before=self._before_step, after=self._after_step)
        self.session.around(GradScaler, "update", after=self._updated)

    def _before_step(self, scaler: Any, *args: Any, **kwargs: Any) -> int:
        return self.session.step

    def _after_step(self, note: int, result: Any, scaler: Any, *args: Any, **kwargs: Any) -> None:
        self._skipped = self.session.step == note

    def _updated(self, note: Any, result: Any, scaler: Any, *args: Any, **kwargs: Any) -> None:
        scale = getattr(scaler, "_scale", None)
        on_cpu = scale is not None and scale.device.type == "cpu"
        self.session.emit(
            ScalerUpdate(
                step=self.session.step,
                at=user_site(),
                scale=float(scale) if on_cpu else None,
                skipped=self._skipped,
            )
        )
