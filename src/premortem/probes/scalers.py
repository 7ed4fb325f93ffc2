"""GradScaler: its scale, and the steps it refused."""

import functools
import math
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.amp.grad_scaler import GradScaler

from premortem.events import ScalerUpdate
from premortem.probes.graph import mark_scaled
from premortem.probes.nonfinite_origin import NonFiniteOrigin
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session, user_site
from premortem.probes.stats import Stats


class Scalers:
    def __init__(
        self, session: Session, optimizers: Optimizers, stats: Stats, nonfinite_origin: NonFiniteOrigin
    ) -> None:
        self.session = session
        self.stats = stats
        self.nonfinite_origin = nonfinite_origin
        self.optimizers = optimizers
        self._skipped = False
        self._loss: float | None = None  # of a step that was left out because its loss was broken
        self.refused: list[Any] = []  # called with (optimizer, key) then,
        self.left_out: list[Any] = []  # and with (key) whenever a step is left out
        self.last: weakref.ref[Any] | None = None  # the scaler that was used last

    def install(self) -> None:
        self.session.layer(
            GradScaler,
            "step",
            functools.partial(self._wrap_step, self._after_step),
            quiet=functools.partial(self._wrap_step, self._after_rested_step),
        )
        self.session.around(GradScaler, "update", after=self._updated, quiet=None)
        self.session.around(GradScaler, "scale", after=self._scaled)
        self.session.around(GradScaler, "unscale_", after=self._unscaled, quiet=None)

    def _wrap_step(self, after: Callable[[int, Any, Any], None], original: Any) -> Any:
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            session = self.session
            before = session.step
            # Such an optimizer steps only after the scaler has waited for the answer.
            session.scaled = scaler._enabled and not getattr(optimizer, "_step_supports_amp_scaling", False)
            try:
                result = original(scaler, optimizer, *args, **kwargs)
            finally:
                session.scaled = False
            after(before, scaler, optimizer)
            return result

        return step

    def _after_rested_step(self, before: int, scaler: Any, optimizer: Any) -> None:
        """A step that was left out is reported, and whatever follows."""
        if self.session.step == before and scaler.is_enabled():
            self.session.rest.wake()
            self._after_step(before, scaler, optimizer)

    def _after_step(self, before: int, scaler: Any, optimizer: Any) -> None:
        with self.session.looking_at("scaler"):
            self._stepped(before, scaler, optimizer)

    def _stepped(self, before: int, scaler: Any, optimizer: Any) -> None:
        self._skipped = self.session.step == before
        self._loss = None
        losses = self.stats.backwards.losses
        if not self._skipped or not losses or not scaler.is_enabled():
            return
        # The scaler has waited for the device to know that: the loss has been there for long.
        value = float(losses[-1])
        if not math.isfinite(value):
            self._loss = value
            for listener in self.refused:
                listener(optimizer, self.session.optimizers.of(optimizer))
        for listener in self.left_out:
            listener(self.session.optimizers.of(optimizer))
        self.nonfinite_origin.step_ended()
        losses.clear()

    def _scaled(self, note: Any, result: Any, scaler: Any, *args: Any, **kwargs: Any) -> None:
        self.last = weakref.ref(scaler)
        given = args[0] if args else kwargs.get("outputs")
        if isinstance(result, torch.Tensor) and isinstance(given, torch.Tensor) and scaler.is_enabled():
            mark_scaled(result, given)

    def _unscaled(
        self, note: Any, result: Any, scaler: Any, optimizer: Any, *args: Any, **kwargs: Any
    ) -> None:
        self.optimizers.gradients.replaced(unscaled=self.session.optimizers.of(optimizer))

    def _updated(self, note: Any, result: Any, scaler: Any, *args: Any, **kwargs: Any) -> None:
        scale: Any = getattr(scaler, "_scale", None)
        if not scaler.is_enabled() or not isinstance(scale, torch.Tensor):
            return
        on_cpu = scale.device.type == "cpu"
        event = ScalerUpdate(
            step=self.session.step,
            at=user_site(),
            scale=float(scale) if on_cpu else None,
            skipped=self._skipped,
            loss=self._loss,
            batches=self.session.drawn(self.session.step + 1) if self._skipped else None,
        )
        self.session.emit(event)
        if not on_cpu:
            self.stats.later(scale, functools.partial(self._arrived, event))

    def _arrived(self, event: ScalerUpdate, values: list[float]) -> None:
        self.session.emit(ScalerUpdate(step=event.step, at=event.at, scale=values[0], skipped=False))
